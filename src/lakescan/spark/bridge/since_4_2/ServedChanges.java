package lakescan;

import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.connector.catalog.Changelog;
import org.apache.spark.sql.connector.catalog.ChangelogContext;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableInfo;
import org.apache.spark.sql.connector.catalog.TableSummary;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** Such a catalog where Spark has syntax for a table's changes. */
public class ServedChanges extends ServedCatalog {
  public TableSummary[] listTableSummaries(String[] namespace) throws NoSuchNamespaceException, NoSuchTableException {
    return python().listTableSummaries(namespace);
  }

  public Changelog loadChangelog(Identifier table, ChangelogContext context, CaseInsensitiveStringMap options)
      throws NoSuchTableException {
    return python().loadChangelog(table, context, options);
  }

  public Table createTableLike(Identifier table, TableInfo info, Table source)
      throws TableAlreadyExistsException, NoSuchNamespaceException {
    return python().createTableLike(table, info, source);
  }
}
