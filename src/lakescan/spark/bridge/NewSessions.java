package lakescan;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.classic.SparkSession;
import scala.runtime.AbstractFunction2;

/**
 * Tells Python of each new session of an application, before the session parses anything: names, SQL and expressions
 * all go through its parser. Sessions share the object in which Spark keeps its extensions, those of Connect clients and
 * the copies in which streams run too, and Spark asks it for a parser whenever it makes a session's state.
 */
public final class NewSessions extends AbstractFunction2 {
  private static final Map known = new WeakHashMap();

  private volatile UDF1 python;

  private NewSessions(UDF1 python) {
    this.python = python;
  }

  /** From now on this function is told; false where another was told of sessions with these extensions. */
  public static boolean tell(SparkSessionExtensions extensions, UDF1 python) {
    synchronized (known) {
      NewSessions before = (NewSessions) known.get(extensions);
      if (before != null) {
        before.python = python;
        return false;
      }
      NewSessions told = new NewSessions(python);
      known.put(extensions, told);
      extensions.injectParser(told);
      return true;
    }
  }

  /** The parser that a session had before this class came into it. */
  public static Object below(Object parser) {
    InvocationHandler handler = Proxy.isProxyClass(parser.getClass()) ? Proxy.getInvocationHandler(parser) : null;
    return handler instanceof Waiting ? ((Waiting) handler).before : parser;
  }

  public Object apply(Object session, Object parser) {
    Waiting waiting = new Waiting(this, (SparkSession) session, (ParserInterface) parser);
    return Proxy.newProxyInstance(
        ParserInterface.class.getClassLoader(), new Class[] {ParserInterface.class}, waiting);
  }

  /** The parser of a session that Python is told of when it is first used. */
  private static final class Waiting implements InvocationHandler {
    private final NewSessions told;
    private final SparkSession session;
    private final ParserInterface before;
    private boolean done;

    Waiting(NewSessions told, SparkSession session, ParserInterface before) {
      this.told = told;
      this.session = session;
      this.before = before;
    }

    public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
      // A shell cuts its input into statements by the parser as well, where it takes no error.
      if (method.getName().startsWith("parse")) {
        tell();
      }
      ParserInterface now = session.sessionState().sqlParser();
      try {
        return method.invoke(now == proxy ? before : now, arguments);
      } catch (InvocationTargetException failed) {
        throw failed.getCause();
      }
    }

    private synchronized void tell() throws Exception {
      if (done) {
        return;
      }
      // What Python does in the session may parse: that is this thread, and goes on.
      done = true;
      try {
        told.python.call(session);
      } catch (Exception failed) {
        done = false;
        throw failed;
      }
    }
  }
}
