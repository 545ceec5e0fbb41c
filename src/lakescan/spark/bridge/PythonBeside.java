package lakescan;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.api.python.Py4JServer;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.connector.catalog.TableProvider;
import scala.runtime.AbstractFunction1;

/**
 * The one Python process beside a driver that is not Python: started when a session first parses something, or a catalog
 * or data source of ours is first used. It ends with the application, and with the JVM however that ends: it waits for
 * the end of its standard input. Spark makes a subclass in each application that has the JAR, for the extensions of its
 * sessions.
 */
public class PythonBeside extends AbstractFunction1 {
  private static final int MOST_SECONDS = 120;
  private static final int TENTHS = 10;
  private static final String[] SETTINGS = {"spark.pyspark.driver.python", "spark.pyspark.python"};

  private static Process process;
  private static Py4JServer server;
  private static List sources;
  private static volatile UDF1 prepare;
  private static volatile String said = "";
  private static final Map COMPILED = new ConcurrentHashMap();

  public Object apply(Object extensions) {
    NewSessions.tell((SparkSessionExtensions) extensions, new UDF1() {
      public Object call(Object session) throws Exception {
        return PythonBeside.start().call(session);
      }
    });
    return null;
  }

  /** Called by Python when it serves: by this function it prepares a session, and these data sources are its own. */
  public static void serves(UDF1 python, List names) {
    sources = names;
    prepare = python;
  }

  /** What was compiled for the processes so far, which a later one uses too. */
  public static Map compiled() {
    return COMPILED;
  }

  /** Start the process, where it does not run yet, and wait until it serves. */
  public static synchronized UDF1 start() throws Exception {
    if (prepare != null && process.isAlive()) {
      return prepare;
    }
    end();
    SparkContext context = SparkContext.getOrCreate();
    String[] made = madeWith();
    String python = interpreter(context.getConf(), made[0]);
    try {
      server = listening(context.getConf());
      run(python, made, context.version());
      for (long waited = 0; prepare == null; waited++) {
        if (process.waitFor(1000 / TENTHS, TimeUnit.MILLISECONDS)) {
          throw new IllegalStateException(
              said.startsWith("[LAKESCAN_") ? said
                  : sentence(made, python + " ended with " + process.exitValue() + " (" + said + ")"));
        }
        if (waited > MOST_SECONDS * TENTHS || context.isStopped()) {
          throw new IllegalStateException(sentence(made, python + " did not answer in " + waited / TENTHS + " s"));
        }
      }
    } finally {
      if (prepare == null) {
        end();
      }
    }
    context.addSparkListener(new SparkListener() {
      public void onApplicationEnd(SparkListenerApplicationEnd ended) {
        PythonBeside.end();
      }
    });
    return prepare;
  }

  /** Nothing of the process, its port and what it served is left. */
  private static synchronized void end() {
    boolean served = prepare != null;
    prepare = null;
    if (served) {
      ServedCatalog.serve(null);
      for (Iterator names = sources.iterator(); names.hasNext();) {
        unserve((String) names.next());
      }
    }
    if (process != null) {
      process.destroy();
    }
    if (server != null) {
      server.shutdown();
    }
    process = null;
    server = null;
  }

  private static void unserve(String source) {
    try {
      Class found = Class.forName(source + ".DefaultSource", true, PythonBeside.class.getClassLoader());
      found.getMethod("serve", new Class[] {TableProvider.class}).invoke(null, new Object[] {null});
    } catch (ReflectiveOperationException failed) {
      throw new IllegalStateException(failed);
    }
  }

  /** A server for Python that keeps no JVM alive: threads are like the one that makes them, and this is a daemon. */
  private static Py4JServer listening(final SparkConf conf) throws Exception {
    final Py4JServer[] made = new Py4JServer[1];
    Thread maker = new Thread(new Runnable() {
      public void run() {
        made[0] = new Py4JServer(conf);
        made[0].start();
      }
    }, "lakescan: start of the server for Python");
    maker.setDaemon(true);
    // Threads that serve Python inherit it, and find by it what Python adds to the driver's classes.
    maker.setContextClassLoader(PythonBeside.class.getClassLoader());
    maker.start();
    maker.join();
    return made[0];
  }

  private static void run(String python, String[] made, String release) throws Exception {
    ProcessBuilder builder = new ProcessBuilder(new String[] {python, "-m", "lakescan.beside"});
    builder.redirectErrorStream(true);
    builder.environment().put("PYSPARK_GATEWAY_PORT", String.valueOf(server.getListeningPort()));
    builder.environment().put("PYSPARK_GATEWAY_SECRET", server.secret());
    builder.environment().put("LAKESCAN_JAR", made[1]);
    builder.environment().put("LAKESCAN_JAR_SPARK", made[2]);
    builder.environment().put("LAKESCAN_DRIVER_SPARK", release);
    builder.environment().put("LAKESCAN_DRIVER_PYTHON_PATH", PythonUtils.sparkPythonPath());
    builder.environment().remove("SPARK_REMOTE");
    try {
      process = builder.start();
    } catch (IOException missing) {
      throw new IllegalStateException(
          sentence(made, "the interpreter " + python + " cannot be started (" + missing.getMessage() + ")"));
    }
    final Process started = process;
    said = "";
    Thread listener = new Thread(new Runnable() {
      public void run() {
        listen(started);
      }
    }, "lakescan: what Python says");
    listener.setDaemon(true);
    listener.start();
  }

  /** What Python says is the driver's to say; its last words, where it never served, are in the error. */
  private static void listen(Process started) {
    try {
      BufferedReader lines = new BufferedReader(new InputStreamReader(started.getInputStream(), "UTF-8"));
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        if (prepare != null) {
          System.err.println(line);
        } else if (!line.trim().isEmpty()) {
          said = line.trim();
        }
      }
      int code = started.waitFor();
      if (prepare != null && started == process) {
        System.err.println("Lakescan's Python process beside this driver has ended with " + code
            + ". New sessions start another; in those that there are, its tables cannot be read any more.");
      }
    } catch (IOException ended) {
      // With the process.
    } catch (InterruptedException ended) {
      Thread.currentThread().interrupt();
    }
  }

  private static String interpreter(SparkConf conf, String ofTheJar) {
    if (conf.contains("spark.lakescan.python")) {
      return conf.get("spark.lakescan.python");
    }
    if (new File(ofTheJar).canExecute()) {
      return ofTheJar;
    }
    for (int at = 0; at < SETTINGS.length; at++) {
      if (conf.contains(SETTINGS[at])) {
        return conf.get(SETTINGS[at]);
      }
    }
    String given = System.getenv("PYSPARK_PYTHON");
    return given == null || given.isEmpty() ? "python3" : given;
  }

  /** What the JAR was made with, as `spark/jar.py` writes it: interpreter, digest of the texts, Spark, a sentence. */
  private static String[] madeWith() throws IOException {
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(PythonBeside.class.getResourceAsStream("made_with"), "UTF-8"));
    try {
      return new String[] {lines.readLine(), lines.readLine(), lines.readLine(), lines.readLine()};
    } finally {
      lines.close();
    }
  }

  private static String sentence(String[] made, String why) {
    return made[3].replace("{}", why);
  }
}
