import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A proxy to Redis that can silence the connections of subscriptions while they stay open. Commands always pass. */
export interface SubscriptionProxy {
  readonly port: number;
  /** Drops everything on the current subscription connections, in both directions. */
  silence(): void;
  /** Holds what is sent on subscription connections until the returned function is called. */
  hold(): () => void;
  /** Drops the next SUBSCRIBE, and lets all else pass. Resolves when it came. */
  dropSubscribe(): Promise<void>;
  close(): Promise<void>;
}

/** Part of the name under which a store's subscriptions connect. */
const SUBSCRIPTIONS = 'svc-bulletins';

export async function startSubscriptionProxy(port: number): Promise<SubscriptionProxy> {
  const links = new Set<{ silent: boolean; subscribes: boolean }>();
  const sockets = new Set<Socket>();
  let held: (() => void)[] | null = null;
  let dropped: PromiseWithResolvers<void> | null = null;
  const server = createServer((client) => {
    const link = { silent: false, subscribes: false };
    links.add(link);
    const upstream = connect(port, '127.0.0.1');
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => socket.destroy());
    }
    client.on('data', (bytes) => {
      if (bytes.includes(SUBSCRIPTIONS)) link.subscribes = true;
      if (link.silent) return;
      if (dropped !== null && bytes.includes('\r\nsubscribe\r\n')) {
        dropped.resolve();
        dropped = null;
        return;
      }
      if (held !== null && link.subscribes) held.push(() => upstream.write(bytes));
      else upstream.write(bytes);
    });
    upstream.on('data', (bytes) => link.silent || client.write(bytes));
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  return {
    port: address.port,
    silence() {
      for (const link of links) link.silent = link.subscribes;
    },
    hold() {
      const mine: (() => void)[] = [];
      held = mine;
      return () => {
        held = null;
        for (const send of mine) send();
      };
    },
    dropSubscribe() {
      dropped = Promise.withResolvers<void>();
      return dropped.promise;
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
