package lakescan;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * An object of Python's whose answers that do not change are asked for once: Spark asks a table for its name and a scan
 * for its text some hundred times a query, and each question is a trip to Python. Its text decides what it is equal to.
 */
public final class Remembered implements InvocationHandler {
  /** A text that ends so is not all that will be told. */
  private static final String MORE = "\u2026";

  private final Object python;
  private final Set always;
  private final Set atFirst;
  private final Map answers = new ConcurrentHashMap();
  private volatile boolean isChanged;

  private Remembered(Object python, Set always, Set atFirst) {
    this.python = python;
    this.always = always;
    this.atFirst = atFirst;
  }

  /**
   * Methods without arguments, a comma between their names: those with one answer for ever, and those whose answer
   * stays until a method is called with an argument.
   */
  public static Object of(Object python, String always, String atFirst) {
    Remembered handler = new Remembered(python, named(always + ",toString,hashCode"), named(atFirst));
    Class known = python.getClass();
    return Proxy.newProxyInstance(known.getClassLoader(), known.getInterfaces(), handler);
  }

  /** The object of Python's. */
  public Object python() {
    return python;
  }

  public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
    String name = method.getName();
    if (arguments == null || arguments.length == 0) {
      boolean isKept = always.contains(name) || (!isChanged && atFirst.contains(name));
      return isKept ? kept(method) : called(method, arguments);
    }
    if (name.equals("equals") && arguments.length == 1) {
      return Boolean.valueOf(isEqual(proxy, arguments[0]));
    }
    isChanged = true;
    return called(method, arguments);
  }

  private boolean isEqual(Object proxy, Object other) {
    return proxy == other || (other != null && proxy.toString().equals(other.toString()));
  }

  private Object kept(Method method) throws Throwable {
    Object[] known = (Object[]) answers.get(method.getName());
    if (known == null) {
      Object[] answer = {called(method, null)};
      if (answer[0] instanceof String && ((String) answer[0]).endsWith(MORE)) {
        return answer[0];
      }
      // Two threads may ask at once: the first answer stays.
      Object[] before = (Object[]) answers.putIfAbsent(method.getName(), answer);
      known = before == null ? answer : before;
    }
    return known[0];
  }

  private Object called(Method method, Object[] arguments) throws Throwable {
    try {
      return method.invoke(python, arguments);
    } catch (InvocationTargetException failed) {
      throw failed.getCause();
    }
  }

  private static Set named(String names) {
    return new HashSet(Arrays.asList(names.split(",")));
  }
}
