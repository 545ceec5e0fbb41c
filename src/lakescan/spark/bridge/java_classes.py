"""The little Java that Lakescan needs, compiled with the compiler that Spark brings for its own generated code: no JDK,
no JAR to install. What executors need is compiled when a session first reads, and sent to them as Spark sends any JAR.
"""

import tempfile
import threading
import zipfile
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakKeyDictionary

from lakescan.errors import UnsupportedSpark

if TYPE_CHECKING:
    from lakescan.spark.bridge.session import Bridge

JavaClasses: TypeAlias = Any  # java.lang.Class, by Py4J

_PACKAGE = "lakescan."
# Each may use those before it.
_SOURCES = ("PlainFiles", "ArrowReaderFactory")
_sent: WeakKeyDictionary[Any, JavaClasses] = WeakKeyDictionary()
_sources: WeakKeyDictionary[Any, dict[str, JavaClasses | None]] = WeakKeyDictionary()
_sending = threading.Lock()


def reader_factory_class(bridge: "Bridge") -> JavaClasses:
    """The class of `ArrowReaderFactory.java`, which every executor of the session's context knows from now on."""
    context = bridge.spark.sparkContext
    with _sending:
        if context not in _sent:
            _sent[context] = _compile_and_send(bridge)
        return _sent[context]


def driver_class(bridge: "Bridge", name: str) -> JavaClasses:
    """The class of a Java file beside this one, for the driver alone; compiled anew at each call."""
    return _compiled(bridge, _text_of(name), _loader(bridge)).getClassLoader().loadClass(_PACKAGE + name)


def named_source(bridge: "Bridge", name: str) -> JavaClasses | None:
    """The class by which Spark finds the data source of a name in every session of the JVM, None where it has another.

    Spark looks for the class `<name>.DefaultSource`, so that is what `DefaultSource.java` is compiled as.
    """
    with _sending:
        known = _sources.setdefault(bridge.gateway, {})
        if name not in known:
            known[name] = _add_source(bridge, name)
        return known[name]


def _add_source(bridge: "Bridge", name: str) -> JavaClasses | None:
    loader, full = _loader(bridge), f"{name}.DefaultSource"
    if loader.getResource(f"{full.replace('.', '/')}.class") is not None:
        return None
    text = _text_of("DefaultSource")
    compiler = _compiled(bridge, text.replace("package lakescan;", f"package {name};", 1), loader)
    jar = _jar_of(bridge, [compiler], f"{name}-source.jar")
    _open_loader(bridge, loader).addURL(bridge.java_class("java.io.File")(str(jar)).toURI().toURL())
    # Loaded at once: the file is gone when the context has ended, and the JVM may outlive it.
    loader.loadClass(full)
    return bridge.java_class(full)


def _open_loader(bridge: "Bridge", loader: Any) -> Any:
    """The loader to which classes can be added: Spark's own, from which others may descend."""
    while loader is not None:
        if bridge.java_class("org.apache.spark.util.MutableURLClassLoader")._java_lang_class.isInstance(loader):
            return loader
        loader = loader.getParent()
    raise UnsupportedSpark(
        "This session's class loader takes no classes, so no data source can be added to it: read by "
        "lakescan.read(spark, path), or start the session from Python."
    )


def _compile_and_send(bridge: "Bridge") -> JavaClasses:
    context: Any = bridge.spark.sparkContext
    loader, compiled = _loader(bridge), []
    for name in _SOURCES:
        compiled.append(_compiled(bridge, _text_of(name), loader))
        loader = compiled[-1].getClassLoader()
    context._jsc.addJar(_jar_of(bridge, compiled, "lakescan.jar").as_uri())
    return loader.loadClass(_PACKAGE + _SOURCES[-1])


def _jar_of(bridge: "Bridge", compilers: list[Any], name: str) -> Path:
    context: Any = bridge.spark.sparkContext
    # Spark removes this folder when the driver's process ends.
    jar = Path(tempfile.mkdtemp(dir=context._temp_dir)) / name
    with zipfile.ZipFile(jar, "w") as archive:
        for compiler in compilers:
            for compiled, code in compiler.getBytecodes().items():
                archive.writestr(f"{compiled.replace('.', '/')}.class", bytes(code))
    return jar


def _loader(bridge: "Bridge") -> Any:
    return bridge.java_class("java.lang.Thread").currentThread().getContextClassLoader()


def _text_of(name: str) -> str:
    return files(__package__).joinpath(f"{name}.java").read_text("utf-8")


def _compiled(bridge: "Bridge", text: str, parent: Any) -> Any:
    compiler = bridge.java_class("org.codehaus.janino.SimpleCompiler")()
    compiler.setParentClassLoader(parent)
    compiler.cook(text)
    return compiler
