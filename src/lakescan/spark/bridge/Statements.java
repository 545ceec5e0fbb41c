package lakescan;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.parser.ParserInterface;

/**
 * A session's parser that also knows `DESCRIBE HISTORY t [LIMIT n]` and `DESCRIBE DETAIL t`: each is a query of a table
 * function. All else goes to the parser before it, and so do these where the session has a table of that name, of which
 * they would describe a column.
 */
public final class Statements implements InvocationHandler {
  private static final Pattern KNOWN = Pattern.compile(
      "\\s*DESC(?:RIBE)?\\s+(HISTORY|DETAIL)\\s+(.+?)(?:\\s+LIMIT\\s+(\\d+))?\\s*;?\\s*",
      Pattern.CASE_INSENSITIVE | Pattern.DOTALL);

  private final ParserInterface before;
  private final SessionCatalog names;

  private Statements(ParserInterface before, SessionCatalog names) {
    this.before = before;
    this.names = names;
  }

  public static ParserInterface over(ParserInterface before, SessionCatalog names) {
    return (ParserInterface) Proxy.newProxyInstance(
        ParserInterface.class.getClassLoader(), new Class[] {ParserInterface.class}, new Statements(before, names));
  }

  public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
    if (method.getName().startsWith("parsePlan") && arguments[0] instanceof String) {
      arguments[0] = asQuery((String) arguments[0]);
    }
    try {
      return method.invoke(before, arguments);
    } catch (InvocationTargetException failed) {
      throw failed.getCause();
    }
  }

  private String asQuery(String text) {
    Matcher matcher = KNOWN.matcher(text);
    if (!matcher.matches() || isName(matcher.group(1))) {
      return text;
    }
    String table = matcher.group(2).trim();
    if (!table.startsWith("'") && !table.startsWith("\"")) {
      table = "'" + table.replace("\\", "\\\\").replace("'", "\\'") + "'";
    }
    String limit = matcher.group(3) == null ? "" : ", " + matcher.group(3);
    return "SELECT * FROM lake_" + matcher.group(1).toLowerCase(Locale.ROOT) + "(" + table + limit + ")";
  }

  private boolean isName(String word) {
    TableIdentifier name = new TableIdentifier(word.toLowerCase(Locale.ROOT));
    return names.isTempView(name) || names.tableExists(name);
  }
}
