package lakescan;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;

import org.apache.spark.sql.internal.SQLConf;

/**
 * The environment of a Python worker, with the time zone of the session that asks for the worker, as it is then: Spark
 * tells a Python data source its options and nothing of the session. A stream asks in a session of its own, which keeps
 * the settings that there were when it started. Janino compiles this, so types are as they are after erasure.
 */
public final class SessionEnvironment extends HashMap {
  private final transient String name;

  public SessionEnvironment(Map environment, String name) {
    super(environment);
    this.name = name;
    put(name, SQLConf.get().sessionLocalTimeZone());
  }

  /** Whoever copies a map asks for this. The name is in it from the beginning, so nobody's iteration is disturbed. */
  public Set entrySet() {
    put(name, SQLConf.get().sessionLocalTimeZone());
    return super.entrySet();
  }

  /** For executors, which do not have this class and need no zone. Janino would rename a private method. */
  protected Object writeReplace() {
    return new HashMap(this);
  }
}
