package lakescan;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;

import org.apache.spark.sql.internal.SQLConf;

/**
 * The environment of a Python worker, with the session's time zone of the moment in which the worker is asked for: Spark
 * tells a Python data source its options and nothing of the session. Janino compiles this, so types are as they are
 * after erasure.
 */
public final class SessionEnvironment extends HashMap {
  private final transient SQLConf conf;
  private final transient String name;

  public SessionEnvironment(Map environment, SQLConf conf, String name) {
    super(environment);
    this.conf = conf;
    this.name = name;
    put(name, conf.sessionLocalTimeZone());
  }

  /** Whoever copies a map asks for this. The name is in it from the beginning, so nobody's iteration is disturbed. */
  public Set entrySet() {
    put(name, conf.sessionLocalTimeZone());
    return super.entrySet();
  }

  /** For executors, which do not have this class and need no zone. Janino would rename a private method. */
  protected Object writeReplace() {
    return new HashMap(this);
  }
}
