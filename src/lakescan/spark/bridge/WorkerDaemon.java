package lakescan;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Field;
import java.nio.file.CopyOption;
import java.nio.file.Files;
import java.nio.file.attribute.FileAttribute;
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
 * when it forks them, so that a worker starts in a few milliseconds. A process has one for each interpreter. It is
 * Spark's own where the session names one, or where workers are to import Lakescan from a file that was sent to them.
 */
final class WorkerDaemon {
  private static final String SPARKS_OWN = "pyspark.daemon";
  private static final String OURS = "lakescan_worker_daemon";
  private static final String FIELD = "org$apache$spark$api$python$BasePythonRunner$$daemonModule";
  private static final String PATHS = "PYTHONPATH";

  private static final String FOLDER = folder();
  private static final Map REFUSING = new ConcurrentHashMap();
  private static final Map BRINGING = new ConcurrentHashMap();

  private WorkerDaemon() {}

  /** Whether the runner takes its worker from our daemon, from now on. */
  static boolean serves(BasePythonRunner runner, PythonFunction function) {
    if (FOLDER == null || REFUSING.containsKey(function.pythonExec()) || bringLakescan(function.pythonIncludes())) {
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
    runner.envVars().put(PATHS, paths.isEmpty() ? FOLDER : FOLDER + File.pathSeparator + paths);
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
      File file = new File(SparkFiles.getRootDirectory(), (String) names.next());
      Object brings = BRINGING.get(file);
      if (brings == null) {
        brings = Boolean.valueOf(bringsLakescan(file));
        BRINGING.put(file, brings);
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

  /** The paths of an environment, without our folder that may have been put before them. */
  private static String pathsOf(Map environment) {
    Object given = environment.get(PATHS);
    String paths = given == null ? "" : (String) given;
    String before = FOLDER + File.pathSeparator;
    return paths.equals(FOLDER) ? "" : paths.startsWith(before) ? paths.substring(before.length()) : paths;
  }

  /**
   * A folder with the daemon in it, null where there can be none. Sessions of Connect each have this class and its JAR,
   * but workers of one environment have one daemon, and its path is part of that.
   */
  private static String folder() {
    String property = "lakescan.worker.daemon";
    synchronized (System.getProperties()) {
      if (System.getProperty(property) == null) {
        try {
          System.setProperty(property, made());
        } catch (IOException full) {
          return null;
        }
      }
      String path = System.getProperty(property);
      return path.indexOf(File.pathSeparatorChar) < 0 ? path : null;
    }
  }

  private static String made() throws IOException {
    File folder = Files.createTempDirectory("lakescan-", new FileAttribute[0]).toFile();
    folder.deleteOnExit();
    File daemon = new File(folder, OURS + ".py");
    daemon.deleteOnExit();
    InputStream text = WorkerDaemon.class.getResourceAsStream("worker_daemon.py");
    try {
      Files.copy(text, daemon.toPath(), new CopyOption[0]);
    } finally {
      text.close();
    }
    return folder.getPath();
  }
}
