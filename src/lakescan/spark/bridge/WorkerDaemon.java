package lakescan;

import java.io.File;
import java.io.IOException;
import java.lang.reflect.Field;
import java.security.CodeSource;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.zip.ZipFile;
import org.apache.spark.SparkFiles;
import org.apache.spark.api.python.BasePythonRunner;
import org.apache.spark.api.python.PythonFunction;

/**
 * Workers by a daemon of ours (`worker_daemon.py`, which is in the JAR of this class): it has imported what they need
 * when it forks them, so that a worker starts in a few milliseconds. It is Spark's own where the session names one, or
 * where workers are to import Lakescan from a file that was sent to them.
 */
final class WorkerDaemon {
  private static final String SPARKS_OWN = "pyspark.daemon";
  private static final String OURS = "lakescan_worker_daemon";
  private static final String FIELD = "org$apache$spark$api$python$BasePythonRunner$$daemonModule";
  private static final String PATHS = "PYTHONPATH";

  private static final String JAR = jar();
  private static final Map REFUSING = new ConcurrentHashMap();
  private static final Map BRINGING = new ConcurrentHashMap();

  private WorkerDaemon() {}

  /** Whether the runner takes its worker from our daemon, from now on. */
  static boolean serves(BasePythonRunner runner, PythonFunction function) {
    if (JAR == null || REFUSING.containsKey(function.pythonExec()) || bringLakescan(function.pythonIncludes())) {
      return false;
    }
    try {
      Field daemon = BasePythonRunner.class.getDeclaredField(FIELD);
      daemon.setAccessible(true);
      if (!SPARKS_OWN.equals(daemon.get(runner))) {
        return false;
      }
      daemon.set(runner, OURS);
    } catch (Exception closed) {
      // Spark, or Java, has it otherwise: then workers are started as Spark starts them.
      return false;
    }
    String paths = pathsOf(runner.envVars());
    runner.envVars().put(PATHS, paths.isEmpty() ? JAR : JAR + File.pathSeparator + paths);
    return true;
  }

  /** It did not start: with this interpreter, this process does without it from now on. */
  static void failed(BasePythonRunner runner, PythonFunction function) {
    REFUSING.put(function.pythonExec(), Boolean.TRUE);
    // It may be the environment of further runners.
    runner.envVars().put(PATHS, pathsOf(runner.envVars()));
  }

  /** Whether one of some files that workers import from may have Lakescan in it. */
  private static boolean bringLakescan(List sent) {
    for (Iterator names = sent.iterator(); names.hasNext();) {
      String name = (String) names.next();
      Object brings = BRINGING.get(name);
      if (brings == null) {
        brings = Boolean.valueOf(bringsLakescan(new File(SparkFiles.getRootDirectory(), name)));
        BRINGING.put(name, brings);
      }
      if (((Boolean) brings).booleanValue()) {
        return true;
      }
    }
    return false;
  }

  private static boolean bringsLakescan(File archive) {
    try {
      ZipFile files = new ZipFile(archive);
      try {
        return files.getEntry("lakescan/__init__.py") != null;
      } finally {
        files.close();
      }
    } catch (IOException unknown) {
      return true;
    }
  }

  /** The paths of an environment, without the JAR that may have been put before them. */
  private static String pathsOf(Map environment) {
    Object given = environment.get(PATHS);
    String paths = given == null ? "" : (String) given;
    String before = JAR + File.pathSeparator;
    return paths.equals(JAR) ? "" : paths.startsWith(before) ? paths.substring(before.length()) : paths;
  }

  /** The file that this class is from, null where it is from none that an environment could name. */
  private static String jar() {
    try {
      CodeSource source = WorkerDaemon.class.getProtectionDomain().getCodeSource();
      File file = new File(source.getLocation().toURI());
      return file.isFile() && file.getPath().indexOf(File.pathSeparatorChar) < 0 ? file.getPath() : null;
    } catch (Exception nowhere) {
      return null;
    }
  }
}
