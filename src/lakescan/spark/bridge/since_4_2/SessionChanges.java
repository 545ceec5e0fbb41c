package lakescan;

import java.util.Set;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.connector.catalog.Changelog;
import org.apache.spark.sql.connector.catalog.ChangelogContext;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The session's catalog where Spark has syntax for a table's changes. */
public class SessionChanges extends SessionNames {
  public SessionChanges(SessionCatalog names, TableCatalog python, Set sources) {
    super(names, python, sources);
  }

  public Changelog loadChangelog(Identifier name, ChangelogContext context, CaseInsensitiveStringMap options)
      throws NoSuchTableException {
    return isOurs(name)
        ? python.loadChangelog(name, context, options)
        : super.loadChangelog(name, context, options);
  }
}
