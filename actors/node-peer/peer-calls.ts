import { z } from 'zod';
import type { ActorClient, CallOptions } from '../../runtime/client.ts';
import type { Json, JsonObject } from '../../runtime/json.ts';
import type { Random } from '../../runtime/random.ts';
import { FLEET } from '../fleet/address.ts';
import { RosterWord } from '../fleet/roster.ts';
import { NodeId } from './capabilities.ts';
import { checked } from './checked.ts';
import { NodePeerState, type Peer, peerAddress } from './state.ts';

export type NodePeerClient = Pick<ActorClient, 'ask' | 'read'>;

const Told = z.looseObject({ word: RosterWord.nullable() });

/** What all parts of the api do with peers. */
export interface PeerCalls {
  readonly client: NodePeerClient;
  readonly random: Pick<Random, 'uuid'>;
  /** The registered node, null for all others. Reads committed state. */
  find(nodeId: string): Promise<Peer | null>;
  /** Throws `forbidden` for a registered node with another key. An unknown node's actor is not made. */
  admit(nodeId: string, publicKeyPem: string): Promise<void>;
  /** Asks a peer. */
  askPeer(nodeId: string, type: string, payload: JsonObject, options?: CallOptions): Promise<Json>;
  /** Tells the fleet what a peer's answer says of it: once this resolves, route and list have it. */
  tellFleet(answer: Json): Promise<void>;
  /** Both. */
  ask(nodeId: string, type: string, payload: JsonObject, options?: CallOptions): Promise<Json>;
}

export function peerCalls(client: NodePeerClient, random: Pick<Random, 'uuid'>): PeerCalls {
  async function find(nodeId: string): Promise<Peer | null> {
    const snapshot = await client.read(peerAddress(checked(NodeId, nodeId, 'node_id')));
    return snapshot === null ? null : NodePeerState.parse(snapshot.state).peer;
  }

  function askPeer(nodeId: string, type: string, payload: JsonObject, options?: CallOptions): Promise<Json> {
    return client.ask(peerAddress(checked(NodeId, nodeId, 'node_id')), type, payload, options);
  }

  async function tellFleet(answer: Json): Promise<void> {
    const told = Told.safeParse(answer);
    if (told.success && told.data.word !== null) await client.ask(FLEET, 'Hear', told.data.word);
  }

  return {
    client,
    random,
    find,
    askPeer,
    tellFleet,
    async admit(nodeId, publicKeyPem) {
      if ((await find(nodeId)) === null) return;
      await client.ask(peerAddress(nodeId), 'Admit', { public_key_pem: publicKeyPem });
    },
    async ask(nodeId, type, payload, options) {
      const answer = await askPeer(nodeId, type, payload, options);
      await tellFleet(answer);
      return answer;
    },
  };
}
