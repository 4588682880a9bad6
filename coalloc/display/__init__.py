"""How things look, whoever shows them: colours, the wording of times and amounts, tables and charts as HTML."""
