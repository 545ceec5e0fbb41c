package lakescan;

import java.util.Set;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableContext;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The session's catalog where Spark loads a table with the options that decide which rows it has. */
public class SessionOptions extends SessionChanges {
  public SessionOptions(SessionCatalog names, TableCatalog python, Set sources) {
    super(names, python, sources);
  }

  public Set tableStateOptionKeys() {
    return python.tableStateOptionKeys();
  }

  public Table loadTable(Identifier name, TableContext context, CaseInsensitiveStringMap options)
      throws NoSuchTableException {
    return isOurs(name) ? python.loadTable(name, context, options) : super.loadTable(name, context, options);
  }
}
