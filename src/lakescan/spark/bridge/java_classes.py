"""The little Java that Lakescan needs, compiled with the compiler that Spark brings for its own generated code: no JDK,
no JAR to install. What executors need is compiled when a session first reads, and sent to them as Spark sends any JAR.
"""

import hashlib
import tempfile
import threading
import zipfile
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias
from weakref import WeakKeyDictionary, WeakSet

from lakescan.errors import UnsupportedSpark

if TYPE_CHECKING:
    from lakescan.spark.bridge.jvm import Bridge

JavaClasses: TypeAlias = Any  # java.lang.Class, by Py4J


class HasClasses(Protocol):
    """A way to the JVM's classes: a session's bridge, or a gateway without a session."""

    def java_class(self, name: str) -> Any: ...


_PACKAGE = "lakescan."
# Each may use those before it.
_SOURCES = (
    "InputBytes",
    "TaskInBlock",
    "KeyedPartition",
    "VectorArrays",
    "Selection",
    "SelectedColumn",
    "StoreFiles",
    "DeletedRows",
    "FilePiece",
    "VariantGroups",
    "StoredColumns",
    "PushedFilters",
    "PageFilter",
    "PlainFiles",
    "VariantFields",
    "WorkerDaemon",
    "ArrowReaderFactory",
    "ScanParts",
)
# In the same JAR, where `WorkerDaemon.java` finds it.
_DAEMON = "worker_daemon.py"
# Spark finds the class of a metric by its name.
_METRICS = ("CountMetric", "SizeMetric")
# Each extends the one before it; the release in which Spark has what it needs.
_CATALOG = {"ServedCatalog": (4, 0), "since_4_2/ServedChanges": (4, 2), "since_4_3/ServedOptions": (4, 3)}
_sent: WeakSet[Any] = WeakSet()
_metrics: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()
_sources: WeakKeyDictionary[Any, dict[str, JavaClasses | None]] = WeakKeyDictionary()
_compilers: WeakKeyDictionary[Any, dict[str, list[Any]]] = WeakKeyDictionary()
_sending = threading.Lock()


def executor_class(bridge: "Bridge", name: str) -> JavaClasses:
    """The class of a Java file beside this one, which every executor of the session's context knows from now on."""
    context: Any = bridge.spark.sparkContext
    with _sending:
        compilers = _compiled_once(bridge, _SOURCES)
        if context not in _sent:
            jar = _jar_of(bridge, compilers, "lakescan.jar")
            with zipfile.ZipFile(jar, "a") as archive:
                archive.writestr(f"lakescan/{_DAEMON}", files(__package__).joinpath(_DAEMON).read_bytes())
            context._jsc.addJar(jar.as_uri())
            _sent.add(context)
        return compilers[-1].getClassLoader().loadClass(_PACKAGE + name)


def driver_class(bridge: "Bridge", *names: str) -> JavaClasses:
    """The class of the last of some Java files beside this one, each of which may use those before it, for the driver
    alone."""
    with _sending:
        loader = _compiled_once(bridge, names)[-1].getClassLoader()
        return loader.loadClass(_PACKAGE + names[-1].rpartition("/")[2])


def named_source(bridge: "Bridge", name: str) -> JavaClasses | None:
    """The class by which Spark finds the data source of a name in every session of the JVM, None where it has another.

    Spark looks for the class `<name>.DefaultSource`, so that is what `DefaultSource.java` is compiled as.
    """
    with _sending:
        known = _sources.setdefault(bridge.gateway, {})
        if name not in known:
            known[name] = _add_source(bridge, name)
        return known[name]


def is_present(bridge: "Bridge", name: str) -> bool:
    """Whether the driver has a class of that name."""
    return _loader(bridge).getResource(f"{name.replace('.', '/')}.class") is not None


def claim_source(bridge: "Bridge", name: str, reader: str, owners: Sequence[str]) -> None:
    """Let what a session reads by the name of another's data source be read by one of ours.

    Owners are the packages whose code goes on reading by the name as before.
    """
    methods = driver_class(bridge, "ClaimedSource").getMethods()
    put = next(method for method in methods if method.getName() == "put")
    analyzer = bridge.spark._jsparkSession.sessionState().analyzer()
    packages = bridge.array("java.lang.String", owners)
    put.invoke(None, bridge.array("java.lang.Object", [analyzer, name, reader, packages]))


def catalog_class(bridge: "Bridge") -> JavaClasses:
    """The class `LakeCatalog`, which Spark can make in every session of the JVM from now on, by its name."""
    full = _PACKAGE + "LakeCatalog"
    with _sending:
        known = _sources.setdefault(bridge.gateway, {})
        if full not in known:
            if not is_present(bridge, full):
                compilers = _compiled_catalog(bridge, bridge.spark.version, _loader(bridge))
                _add_to_driver(bridge, compilers, "catalog.jar", [full])
            known[full] = bridge.java_class(_PACKAGE + "ServedCatalog")
        return known[full]


def compiled_jar(java: HasClasses, release: str, sources: Sequence[str]) -> dict[str, bytes]:
    """What a driver that is not Python has to be given, by the paths of a JAR; `sources` are names of data sources."""
    compilers = _compiled_catalog(java, release, _loader(java))
    compilers += _compiled_in_order(java, ["NewSessions", "PythonBeside"], compilers[-1].getClassLoader())
    extends = "extends PythonBeside implements org.apache.spark.sql.SparkSessionExtensionsProvider"
    text = f"package lakescan; public final class JarExtensions {extends} {{}}"
    compilers.append(_compiled(java, text, compilers[-1].getClassLoader()))
    compilers += _compiled_in_order(java, _METRICS, _loader(java))
    compilers += [_compiled(java, _text_of_source(name), _loader(java)) for name in sources]
    classes = {path: code for compiler in compilers for path, code in _class_files(compiler)}
    provider = "META-INF/services/org.apache.spark.sql.SparkSessionExtensionsProvider"
    return {**classes, provider: f"{_PACKAGE}JarExtensions\n".encode()}


def beside_class(bridge: "Bridge") -> JavaClasses:
    """The class of the JAR that starts Python and waits for it."""
    return bridge.java_class(_PACKAGE + "PythonBeside")


def digest_of_texts() -> str:
    """What tells the Java texts of one release from those of another."""
    digest = hashlib.sha256()
    for folder in (files(__package__), *(files(__package__) / name for name in ("since_4_2", "since_4_3"))):
        for file in sorted(folder.iterdir(), key=lambda file: file.name):
            if file.name.endswith(".java"):
                digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _compiled_catalog(java: HasClasses, release: str, loader: Any) -> list[Any]:
    has = tuple(int(part) for part in release.split(".")[:2])
    names = [name for name, since in _CATALOG.items() if since <= has]
    compilers = _compiled_in_order(java, names, loader)
    text = f"package lakescan; public final class LakeCatalog extends {names[-1].rpartition('/')[2]} {{}}"
    return [*compilers, _compiled(java, text, compilers[-1].getClassLoader())]


def count_and_size(bridge: "Bridge") -> tuple[str, str] | None:
    """The names of the classes of metrics, which the driver's threads know from now on; None where they cannot."""
    with _sending:
        if bridge.gateway not in _metrics:
            _metrics[bridge.gateway] = _add_metrics(bridge)
        return (_PACKAGE + _METRICS[0], _PACKAGE + _METRICS[1]) if _metrics[bridge.gateway] else None


def _add_metrics(bridge: "Bridge") -> bool:
    loader = _loader(bridge)
    if is_present(bridge, _PACKAGE + _METRICS[0]):
        return True
    if _open_loader(bridge, loader) is None:
        return False
    _add_to_driver(
        bridge, _compiled_in_order(bridge, _METRICS, loader), "metrics.jar", [_PACKAGE + n for n in _METRICS]
    )
    return True


def _add_source(bridge: "Bridge", name: str) -> JavaClasses | None:
    loader, full = _loader(bridge), f"{name}.DefaultSource"
    if is_present(bridge, full):
        # Our own of the JAR, or another's.
        methods = loader.loadClass(full).getMethods()
        return bridge.java_class(full) if any(method.getName() == "serve" for method in methods) else None
    if _open_loader(bridge, loader) is None:
        raise UnsupportedSpark(
            "This session's class loader takes no classes, so no data source can be added to it: read by "
            "lakescan.read(spark, path), or start the session from Python."
        )
    compiler = _compiled(bridge, _text_of_source(name), loader)
    _add_to_driver(bridge, [compiler], f"{name}-source.jar", [full])
    return bridge.java_class(full)


def _add_to_driver(bridge: "Bridge", compilers: list[Any], jar: str, names: Sequence[str]) -> None:
    """Have every thread of the driver find these classes by their names."""
    loader, path = _loader(bridge), _jar_of(bridge, compilers, jar)
    _open_loader(bridge, loader).addURL(bridge.java_class("java.io.File")(str(path)).toURI().toURL())
    for name in names:
        # Loaded at once: the file is gone when the context has ended, and the JVM may outlive it.
        loader.loadClass(name)


def _open_loader(bridge: "Bridge", loader: Any) -> Any:
    """The loader to which classes can be added: Spark's own, of which others may be children; None without it."""
    while loader is not None:
        if bridge.java_class("org.apache.spark.util.MutableURLClassLoader")._java_lang_class.isInstance(loader):
            return loader
        loader = loader.getParent()
    return None


def _compiled_once(bridge: "Bridge", names: Sequence[str]) -> list[Any]:
    """What some Java files are compiled to, once a JVM, also where it outlives this process or a context.

    Each thread of Py4J's remembers methods by the names of their classes: of two classes of one name, it would call the
    methods of the first on objects of the second.
    """
    known = _compilers.setdefault(bridge.gateway, {})
    key = ",".join(names)
    if key not in known:
        kept = beside_class(bridge).compiled() if is_present(bridge, _PACKAGE + "PythonBeside") else None
        earlier = None if kept is None else kept.get(key)
        if earlier is not None:
            known[key] = list(earlier)
        else:
            known[key] = _compiled_in_order(bridge, names, _loader(bridge))
            if kept is not None:
                kept.put(key, bridge.array("java.lang.Object", known[key]))
    return known[key]


def _compiled_in_order(bridge: HasClasses, names: Sequence[str], loader: Any) -> list[Any]:
    compiled = []
    for name in names:
        compiled.append(_compiled(bridge, _text_of(name), loader))
        loader = compiled[-1].getClassLoader()
    return compiled


def _jar_of(bridge: "Bridge", compilers: list[Any], name: str) -> Path:
    context: Any = bridge.spark.sparkContext
    # Spark removes this folder when the driver's process ends.
    folder = Path(tempfile.mkdtemp(dir=context._temp_dir))
    # Spark sends one file of a name, and another process may have served the context before.
    jar = folder / f"{folder.name}-{name}"
    with zipfile.ZipFile(jar, "w") as archive:
        for compiler in compilers:
            for path, code in _class_files(compiler):
                archive.writestr(path, code)
    return jar


def _class_files(compiler: Any) -> list[tuple[str, bytes]]:
    return [(f"{name.replace('.', '/')}.class", bytes(code)) for name, code in compiler.getBytecodes().items()]


def _text_of_source(name: str) -> str:
    return _text_of("DefaultSource").replace("package lakescan;", f"package {name};", 1)


def _loader(bridge: HasClasses) -> Any:
    return bridge.java_class("java.lang.Thread").currentThread().getContextClassLoader()


def _text_of(name: str) -> str:
    return files(__package__).joinpath(f"{name}.java").read_text("utf-8")


def _compiled(bridge: HasClasses, text: str, parent: Any) -> Any:
    compiler = bridge.java_class("org.codehaus.janino.SimpleCompiler")()
    compiler.setParentClassLoader(parent)
    compiler.cook(text)
    return compiler
