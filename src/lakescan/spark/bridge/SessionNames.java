package lakescan;

import java.util.Locale;
import java.util.Set;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTableType;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.execution.datasources.v2.V2SessionCatalog;
import scala.Option;

/**
 * The session's own catalog, in which tables of some data sources are loaded by Python, at any version; nothing is
 * different for other tables. Python refuses what would change a table. To drop one drops its name: a table whose
 * folder would go with the name is not dropped.
 */
public class SessionNames extends V2SessionCatalog {
  /** The catalog in Python, for tables that are ours. */
  protected final TableCatalog python;

  private final SessionCatalog names;
  private final Set sources;

  public SessionNames(SessionCatalog names, TableCatalog python, Set sources) {
    super(names);
    this.names = names;
    this.python = python;
    this.sources = sources;
  }

  public Table loadTable(Identifier name) {
    try {
      return isOurs(name) ? python.loadTable(name) : super.loadTable(name);
    } catch (NoSuchTableException gone) {
      // Dropped since it was looked up; Spark's own code says so.
      return super.loadTable(name);
    }
  }

  public Table loadTable(Identifier name, String version) {
    try {
      return isOurs(name) ? python.loadTable(name, version) : super.loadTable(name, version);
    } catch (NoSuchTableException gone) {
      return super.loadTable(name, version);
    }
  }

  public Table loadTable(Identifier name, long micros) {
    try {
      return isOurs(name) ? python.loadTable(name, micros) : super.loadTable(name, micros);
    } catch (NoSuchTableException gone) {
      return super.loadTable(name, micros);
    }
  }

  public Table loadTable(Identifier name, Set privileges) throws NoSuchTableException {
    return isOurs(name) ? python.loadTable(name, privileges) : super.loadTable(name, privileges);
  }

  /** A name that is kept is there, whatever became of its table: Spark 4.1 asks so before it drops one. */
  public boolean tableExists(Identifier name) {
    return isOurs(name) || super.tableExists(name);
  }

  public Table alterTable(Identifier name, TableChange[] changes) {
    try {
      return isOurs(name) ? python.alterTable(name, changes) : super.alterTable(name, changes);
    } catch (NoSuchTableException gone) {
      return super.alterTable(name, changes);
    }
  }

  public void renameTable(Identifier name, Identifier other) {
    try {
      if (isManaged(kept(name))) {
        python.renameTable(name, other);
        return;
      }
    } catch (NoSuchTableException gone) {
      // Spark's own code says so.
    } catch (TableAlreadyExistsException there) {
      // Spark's own code says so.
    }
    super.renameTable(name, other);
  }

  public boolean dropTable(Identifier name) {
    CatalogTable table = kept(name);
    return table == null ? super.dropTable(name) : dropName(name, table);
  }

  public boolean purgeTable(Identifier name) {
    CatalogTable table = kept(name);
    return table == null ? super.purgeTable(name) : dropName(name, table);
  }

  protected final boolean isOurs(Identifier name) {
    return kept(name) != null;
  }

  private boolean dropName(Identifier name, CatalogTable table) {
    if (isManaged(table)) {
      return python.dropTable(name);
    }
    names.invalidateCachedTable(table.identifier());
    names.dropTable(table.identifier(), true, false);
    return true;
  }

  private static boolean isManaged(CatalogTable table) {
    return table != null && table.tableType().equals(CatalogTableType.MANAGED());
  }

  /** What the session's catalog knows of a table of ours, null where the name is not one. */
  private CatalogTable kept(Identifier name) {
    if (name.namespace().length != 1) {
      return null;
    }
    CatalogTable metadata;
    try {
      metadata = names.getTableMetadata(new TableIdentifier(name.name(), Option.apply(name.namespace()[0])));
    } catch (RuntimeException failed) {
      throw failed;
    } catch (Exception missing) {
      // There is no such table: Spark's own code says so. Scala declares no exceptions.
      return null;
    }
    Option source = metadata.provider();
    return source.isDefined() && sources.contains(((String) source.get()).toLowerCase(Locale.ROOT)) ? metadata : null;
  }
}
