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

if TYPE_CHECKING:
    from lakescan.spark.bridge.session import Bridge

JavaClasses: TypeAlias = Any  # java.lang.Class, by Py4J

_PACKAGE = "lakescan."
# Each may use those before it.
_SOURCES = ("PlainFiles", "ArrowReaderFactory")
_sent: WeakKeyDictionary[Any, JavaClasses] = WeakKeyDictionary()
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
    return _compiled(bridge, name, _loader(bridge)).getClassLoader().loadClass(_PACKAGE + name)


def _compile_and_send(bridge: "Bridge") -> JavaClasses:
    context: Any = bridge.spark.sparkContext
    loader = _loader(bridge)
    # Spark removes this folder when the driver's process ends.
    jar = Path(tempfile.mkdtemp(dir=context._temp_dir)) / "lakescan.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        for name in _SOURCES:
            compiler = _compiled(bridge, name, loader)
            loader = compiler.getClassLoader()
            for compiled, code in compiler.getBytecodes().items():
                archive.writestr(f"{compiled.replace('.', '/')}.class", bytes(code))
    context._jsc.addJar(jar.as_uri())
    return loader.loadClass(_PACKAGE + _SOURCES[-1])


def _loader(bridge: "Bridge") -> Any:
    return bridge.java_class("java.lang.Thread").currentThread().getContextClassLoader()


def _compiled(bridge: "Bridge", name: str, parent: Any) -> Any:
    compiler = bridge.java_class("org.codehaus.janino.SimpleCompiler")()
    compiler.setParentClassLoader(parent)
    compiler.cook(files(__package__).joinpath(f"{name}.java").read_text("utf-8"))
    return compiler
