import type { MongoClient } from 'mongodb';

/**
 * Hears whether the driver still looks at its servers. When a connection is closed under a look, at the wrong moment,
 * that look never ends (the driver writes to a closed socket and waits for `drain`), no other one is begun, and the
 * client never again finds a server that it lost.
 */
export class Heartbeats {
  readonly #newsAt = new Map<string, number>();

  constructor(client: MongoClient) {
    const heard = ({ connectionId }: { readonly connectionId: string }): void => {
      this.#newsAt.set(connectionId, performance.now());
    };
    client.on('serverHeartbeatStarted', heard);
    client.on('serverHeartbeatSucceeded', heard);
    client.on('serverHeartbeatFailed', heard);
    client.on('serverClosed', ({ address }) => this.#newsAt.delete(address));
  }

  /** How long nothing was heard of the server that was looked at least lately; 0 when none is looked at. */
  get silentMs(): number {
    return performance.now() - Math.min(performance.now(), ...this.#newsAt.values());
  }
}
