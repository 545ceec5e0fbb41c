package lakescan;

import java.util.Set;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableContext;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** Such a catalog where Spark loads a table with the options that decide which rows it has. */
public class ServedOptions extends ServedChanges {
  public Set tableStateOptionKeys() {
    return python().tableStateOptionKeys();
  }

  public Set changelogStateOptionKeys() {
    return python().changelogStateOptionKeys();
  }

  public Table loadTable(Identifier table, TableContext context, CaseInsensitiveStringMap options)
      throws NoSuchTableException {
    return python().loadTable(table, context, options);
  }
}
