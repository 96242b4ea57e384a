import { createHash, createPublicKey, type JsonWebKey, randomBytes, randomUUID, verify } from 'node:crypto';
import {
  type handleUnaryCall,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js';
import { type CryptoKey, exportJWK, generateKeyPair, jwtVerify, SignJWT } from 'jose';
import {
  DeregisterNodeRequest,
  HeartbeatRequest,
  type NodeCapabilityAdvertisement,
  NodeClusterServiceService,
  type NodeCommand,
  NodeRole,
  RegisterNodeRequest,
  type SealNodeEnvelope,
} from '../../proto/gen/svc/cluster/v1/cluster.ts';
import { SvcError, toSvcError } from '../../runtime/errors.ts';
import type { NodeIdentity } from '../../security/api.ts';
import { openNodeEnvelope } from '../../security/node-envelope.ts';

/*
 * Stands in for `transport/grpc/cluster` with the node-peer actors behind it: the same service on a real socket, with
 * nonces, signatures, tokens and envelopes checked for real. Unlike the real one it can fail on demand:
 * calls that fail or hang, tokens that live a second, state that is lost, configurations with a wrong hash.
 * The promises of the real one are in its own tests and in `registration-real.test.ts`.
 */

type Method = 'AttestNode' | 'ChallengeNode' | 'RegisterNode' | 'Heartbeat' | 'DeregisterNode' | 'SyncConfig';

interface SeenBeat {
  readonly nodeId: string;
  readonly beat: HeartbeatRequest;
  /** Name of the controller that got the call. */
  readonly port: number;
}

/** State that several controllers share, as real ones share actors. */
export class FleetState {
  joinToken: string | null = null;
  tokenLifetimeSecs = 3_600;
  /** Offset of the clock by which it makes tokens. */
  clockOffsetSecs = 0;
  config = { config_yaml: '', config_hash: '' };
  readonly challenges = new Map<string, { readonly nonce: string; readonly nodeId: string; readonly pem: string }>();
  readonly peers = new Map<
    string,
    { peerId: string; capabilities: NodeCapabilityAdvertisement | undefined; grpcAddress: string }
  >();
  readonly pinned = new Map<string, string>();
  readonly queued: NodeCommand[] = [];
  readonly beats: SeenBeat[] = [];
  readonly deregistered: { readonly nodeId: string; readonly reason: string }[] = [];
  /** Every secret that must never be in a log. */
  readonly secrets: string[] = [];
  readonly calls = new Map<Method, number>();
  readonly connections = new Set<string>();
  #keys: Promise<{ privateKey: CryptoKey; publicKey: CryptoKey }> = generateKeyPair('RS256');

  count(method: Method): number {
    return this.calls.get(method) ?? 0;
  }

  keys(): Promise<{ privateKey: CryptoKey; publicKey: CryptoKey }> {
    return this.#keys;
  }

  /** Loses its state: earlier tokens are invalid and no node is registered. */
  async loseEverything(): Promise<void> {
    this.peers.clear();
    this.pinned.clear();
    this.challenges.clear();
    this.#keys = generateKeyPair('RS256');
    await this.#keys;
  }

  setConfig(yaml: string, hash = createHash('sha256').update(yaml).digest('hex')): void {
    this.config = { config_yaml: yaml, config_hash: hash };
  }

  async token(nodeId: string, pem: string): Promise<{ token: string; expiresAt: string }> {
    const now = Math.floor(Date.now() / 1_000) + this.clockOffsetSecs;
    const exp = now + this.tokenLifetimeSecs;
    const { privateKey } = await this.keys();
    const token = await new SignJWT({ role: 'WORKER', cnf: { jwk: await exportJWK(createPublicKey(pem)) } })
      .setProtectedHeader({ alg: 'RS256' })
      .setSubject(nodeId)
      .setIssuedAt(now)
      .setExpirationTime(exp)
      .sign(privateKey);
    this.secrets.push(token);
    return { token, expiresAt: new Date(exp * 1_000).toISOString() };
  }

  async nodeOf(envelope: SealNodeEnvelope, authorization: string): Promise<string> {
    const tokens = { verify: (token: string) => this.#verified(token) };
    return (await openNodeEnvelope({ tokens }, authorization, envelope)).nodeId;
  }

  async #verified(token: string): Promise<NodeIdentity> {
    const { publicKey } = await this.keys();
    const currentDate = new Date(Date.now() + this.clockOffsetSecs * 1_000);
    try {
      const { payload } = await jwtVerify<NodeClaims>(token, publicKey, { algorithms: ['RS256'], currentDate });
      const key = createPublicKey({ key: payload.cnf.jwk, format: 'jwk' });
      return { nodeId: payload.sub, role: payload.role, publicKey: key, expiresAt: payload.exp * 1_000 };
    } catch (cause) {
      throw new SvcError('unauthenticated', 'the token is not good', { cause });
    }
  }
}

interface NodeClaims {
  readonly sub: string;
  readonly role: NodeIdentity['role'];
  readonly exp: number;
  readonly cnf: { readonly jwk: JsonWebKey };
}

/** Reaction to a call before it is handled: none, a status, or no answer at all. */
type Fault = (method: Method) => keyof typeof status | 'hang' | undefined;

export interface ControllerStandIn {
  readonly port: number;
  readonly address: string;
  fault: Fault;
  /** Cuts all connections; the port is free again. */
  stop(): Promise<void>;
}

export async function startController(
  fleet: FleetState,
  port = 0,
  credentials = ServerCredentials.createInsecure(),
): Promise<ControllerStandIn> {
  const server = new Server({ 'grpc.enable_channelz': 1 });
  const controller = { port: 0, address: '', fault: (): undefined => undefined, stop: () => shutDown(server) };
  server.addService(NodeClusterServiceService, handlers(fleet, controller));
  const bound = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`127.0.0.1:${port}`, credentials, (error, at) => (error === null ? resolve(at) : reject(error)));
  });
  return Object.assign(controller, { port: bound, address: `127.0.0.1:${bound}` });
}

async function shutDown(server: Server): Promise<void> {
  server.forceShutdown();
}

function handlers(fleet: FleetState, controller: { readonly port: number; readonly fault: Fault }) {
  const unary =
    <Request, Answer>(
      method: Method,
      answer: (call: ServerUnaryCall<Request, Answer>) => Promise<Answer> | Answer,
    ): handleUnaryCall<Request, Answer> =>
    (call: ServerUnaryCall<Request, Answer>, done: sendUnaryData<Answer>) => {
      fleet.calls.set(method, fleet.count(method) + 1);
      fleet.connections.add(call.getPeer());
      const fault = controller.fault(method);
      if (fault === 'hang') return;
      if (fault !== undefined) return done({ code: status[fault], details: `${fault} was asked for` });
      Promise.resolve()
        .then(() => answer(call))
        .then(
          (value) => done(null, value),
          (thrown: unknown) => {
            const error = toSvcError(thrown);
            done({ code: status[error.row.grpc], details: error.message });
          },
        );
    };
  const nodeOf = (call: ServerUnaryCall<SealNodeEnvelope, unknown>): Promise<string> =>
    fleet.nodeOf(call.request, String(call.metadata.get('authorization')[0]));
  const refuse = (): never => {
    throw new SvcError('unimplemented');
  };

  return {
    attestNode: unary('AttestNode', (call: ServerUnaryCall<AttestNode, unknown>) => beginAttestation(fleet, call)),
    challengeNode: unary('ChallengeNode', (call: ServerUnaryCall<Challenge, unknown>) => endAttestation(fleet, call)),
    registerNode: unary('RegisterNode', async (call: ServerUnaryCall<SealNodeEnvelope, unknown>) => {
      const nodeId = await nodeOf(call);
      const { capabilities } = RegisterNodeRequest.decode(call.request.payload);
      const peerId = fleet.peers.get(nodeId)?.peerId ?? randomUUID();
      const grpcAddress = String(call.metadata.get('svc-node-grpc-address')[0]);
      fleet.peers.set(nodeId, { peerId, capabilities, grpcAddress });
      return { peer_id: peerId };
    }),
    heartbeat: unary('Heartbeat', async (call: ServerUnaryCall<SealNodeEnvelope, unknown>) => {
      const nodeId = await nodeOf(call);
      const beat = HeartbeatRequest.decode(call.request.payload);
      const peer = fleet.peers.get(nodeId);
      if (peer === undefined) throw new SvcError('failed_precondition', 'register first');
      if (peer.peerId !== beat.peer_id) throw new SvcError('forbidden', 'the peer is another node');
      fleet.beats.push({ nodeId, beat, port: controller.port });
      return { commands: fleet.queued.splice(0) };
    }),
    deregisterNode: unary('DeregisterNode', async (call: ServerUnaryCall<SealNodeEnvelope, unknown>) => {
      const nodeId = await nodeOf(call);
      const { reason } = DeregisterNodeRequest.decode(call.request.payload);
      fleet.deregistered.push({ nodeId, reason });
      fleet.pinned.delete(nodeId);
      return { accepted: fleet.peers.delete(nodeId) };
    }),
    syncConfig: unary('SyncConfig', async (call: ServerUnaryCall<SealNodeEnvelope, unknown>) => {
      await nodeOf(call);
      return fleet.config;
    }),
    routeExecution: refuse,
    forwardExecution: refuse,
    pushConfig: refuse,
    listPeers: refuse,
  };
}

type AttestNode = { readonly node_id: string; readonly public_key_pem: string; readonly role: number };
type Challenge = { readonly challenge_id: string; readonly signature: Uint8Array };

function beginAttestation(fleet: FleetState, { request, metadata }: ServerUnaryCall<AttestNode, unknown>) {
  const { node_id: nodeId, public_key_pem: pem, role } = request;
  if (fleet.joinToken !== null && metadata.get('svc-join-token')[0] !== fleet.joinToken) {
    throw new SvcError('forbidden', 'the join token is wrong');
  }
  if (role === NodeRole.CONTROLLER) throw new SvcError('forbidden', 'controllers do not register');
  if ((fleet.pinned.get(nodeId) ?? pem) !== pem)
    throw new SvcError('forbidden', 'another key is pinned to this node id');
  const nonce = randomBytes(32).toString('base64url');
  const id = randomUUID();
  fleet.challenges.set(id, { nonce, nodeId, pem });
  fleet.secrets.push(nonce);
  return { challenge_nonce: nonce, challenge_id: id };
}

async function endAttestation(fleet: FleetState, { request }: ServerUnaryCall<Challenge, unknown>) {
  const challenge = fleet.challenges.get(request.challenge_id);
  fleet.challenges.delete(request.challenge_id);
  const good =
    challenge !== undefined &&
    verify(null, Buffer.from(challenge.nonce, 'utf8'), createPublicKey(challenge.pem), request.signature);
  if (!good) throw new SvcError('unauthenticated', 'the challenge was not met');
  fleet.secrets.push(Buffer.from(request.signature).toString('base64'));
  fleet.pinned.set(challenge.nodeId, challenge.pem);
  const { token, expiresAt } = await fleet.token(challenge.nodeId, challenge.pem);
  return { node_security_token: token, expires_at: expiresAt };
}
