package lakescan;

import java.io.IOException;
import java.lang.reflect.Field;
import java.net.InetAddress;
import java.util.ArrayDeque;
import java.util.List;
import java.util.concurrent.TimeUnit;
import javax.net.SocketFactory;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import py4j.ClientServerConnection;
import py4j.Gateway;
import py4j.GatewayServer;
import py4j.Py4JClientConnection;
import py4j.PythonClient;

/**
 * Calls from Java to Python over as few connections as there are threads that call at one time.
 *
 * Py4J gives each Java thread that calls Python a connection of its own, which Python serves with a thread, and keeps
 * it when the Java thread has ended; Spark plans joins, subqueries and exchanges in ever new threads. Here a thread has
 * a connection from the beginning of its outermost call to the end of it, so a call back and forth stays in one Java
 * and one Python thread, and the next thread gets the same connection. A few wait for the next call; when the Spark
 * context ends, none.
 */
public class PythonCalls extends PythonClient {
  private static final int MOST_IDLE = 4;

  private final ArrayDeque idle = new ArrayDeque();
  private int mostIdle = MOST_IDLE;

  private PythonCalls(PythonClient before, GatewayServer server) throws ReflectiveOperationException {
    super(
        before.getGateway(), (List) of(before, "customCommands"), before.getPort(), (InetAddress) of(before, "address"),
        ((Long) of(before, "minConnectionTime")).longValue(), (TimeUnit) of(before, "minConnectionTimeUnit"),
        (SocketFactory) of(before, "socketFactory"), server);
    // The threads that serve Python have their connections from there.
    this.threadConnection = (ThreadLocal) of(before, "threadConnection");
  }

  /** Let this class make the calls of a gateway, where that has a connection for each thread, until a context ends. */
  public static void install(GatewayServer server, SparkContext context) throws ReflectiveOperationException {
    Object client = server.getCallbackClient();
    if (client.getClass() == PythonClient.class) {
      client = new PythonCalls((PythonClient) client, server);
      Field field = Gateway.class.getDeclaredField("cbClient");
      field.setAccessible(true);
      field.set(server.getGateway(), client);
    }
    if (client instanceof PythonCalls) {
      final PythonCalls calls = (PythonCalls) client;
      calls.keepIdle(MOST_IDLE);
      context.addSparkListener(new SparkListener() {
        public void onApplicationEnd(SparkListenerApplicationEnd end) {
          calls.keepIdle(0);
        }
      });
    }
  }

  public String sendCommand(String command, boolean blocking) {
    ClientServerConnection own = getPerThreadConnection();
    if (own != null && own.getSocket() != null) {
      // The thread serves Python, or is in the middle of a call.
      return super.sendCommand(command, blocking);
    }
    ClientServerConnection taken = take();
    try {
      return super.sendCommand(command, blocking);
    } finally {
      threadConnection.remove();
      giveBack(taken);
    }
  }

  protected void giveBackConnection(Py4JClientConnection connection) {
    // Nothing is kept for a thread that may have ended.
  }

  public void shutdown() {
    super.shutdown();
    keepIdle(0);
  }

  private ClientServerConnection take() {
    lock.lock();
    try {
      ClientServerConnection connection = (ClientServerConnection) idle.pollLast();
      if (connection == null) {
        // Opens one and makes it the thread's.
        return (ClientServerConnection) getConnectionLock();
      }
      setPerThreadConnection(connection);
      return connection;
    } finally {
      lock.unlock();
    }
  }

  private void giveBack(ClientServerConnection taken) {
    if (taken == null || taken.getSocket() == null) {
      return;
    }
    lock.lock();
    try {
      if (idle.size() < mostIdle) {
        idle.addLast(taken);
        return;
      }
    } finally {
      lock.unlock();
    }
    taken.shutdown();
  }

  private void keepIdle(int most) {
    lock.lock();
    try {
      mostIdle = most;
      while (idle.size() > most) {
        ((ClientServerConnection) idle.pollFirst()).shutdown();
      }
    } finally {
      lock.unlock();
    }
  }

  /** What the client before has in a field; Py4J's own classes have it in one of two. */
  private static Object of(PythonClient before, String name) throws ReflectiveOperationException {
    Field field;
    try {
      field = PythonClient.class.getDeclaredField(name);
    } catch (NoSuchFieldException missing) {
      field = PythonClient.class.getSuperclass().getDeclaredField(name);
    }
    field.setAccessible(true);
    return field.get(before);
  }
}
