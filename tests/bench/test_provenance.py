"""What the key of a sample hangs on: the source files that its method can reach."""

from coalloc.bench import provenance
from coalloc.bench.methods import METHODS


def test_a_method_reaches_what_it_imports_or_names_and_nothing_else():
    solve, simulate = (set(provenance.reached(METHODS[name].modules)) for name in ("solve", "simulate"))
    # Models are imported by name, energy within a function, packages with their members.
    assert {
        "coalloc",
        "coalloc.models",
        "coalloc.models.oas_node",
        "coalloc.solvers.energy.solving",
        "coalloc.power.meter",
    } <= solve
    assert {"coalloc.heuristics.pcbe", "coalloc.simulator.engine"} <= simulate
    others = ("cli", "bench", "studies", "plot", "simulator", "heuristics", "workloads")
    assert [name for name in solve if name.startswith(tuple(f"coalloc.{room}" for room in others))] == []


def test_an_edit_counts_only_where_it_is_reached(tmp_path, monkeypatch):
    for name, text in (("__init__.py", ""), ("one.py", "import coalloc.two"), ("two.py", ""), ("three.py", "")):
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(provenance, "PACKAGE", tmp_path)

    def code():
        provenance.reached.cache_clear()
        provenance.versions_for.cache_clear()
        return provenance.versions_for(("coalloc.one",))["code"]

    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "one.c").write_text("int one;")
    before = code()
    (tmp_path / "three.py").write_text("edited = True")
    assert code() == before
    (tmp_path / "two.py").write_text("edited = True")
    assert code() != before
    before = code()
    (tmp_path / "src" / "one.c").write_text("int edited;")  # compiled for the package that one.py is in
    assert code() != before
    provenance.reached.cache_clear()
    provenance.versions_for.cache_clear()


def test_what_is_compiled_decides_a_result(tmp_path, monkeypatch):
    (tmp_path / "engine" / "src").mkdir(parents=True)
    (tmp_path / "engine" / "src" / "lists.c").write_text("int one;")
    monkeypatch.setattr(provenance, "PACKAGE", tmp_path)
    before = provenance._code_digest()
    (tmp_path / "engine" / "src" / "lists.c").write_text("int edited;")
    assert provenance._code_digest() != before
    assert [path.name for path in provenance._compiled_for("coalloc.engine")] == ["lists.c"]
