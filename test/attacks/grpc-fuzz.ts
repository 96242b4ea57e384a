import { readFileSync } from 'node:fs';
import type { ClientHttp2Stream } from 'node:http2';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createFileRegistry, type DescMessage, type DescMethod, fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { status } from '@grpc/grpc-js';
import { WatchedSession } from './answered-streams.ts';
import type { AttackedNode } from './attacked-node.ts';
import { type FuzzedCaller, fuzzedCallers } from './fuzzed-callers.ts';
import { HostileMessages, seededRandom } from './hostile-messages.ts';

const GEN = join(import.meta.dirname, '..', '..', 'proto', 'gen');
const REFLECTION = ['v1', 'v1alpha'].map(
  (version) => `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
);
const AT_ONCE = 24;
/** Time after which a call without an end is cancelled. */
const STREAM_MS = 150;
/** Longest time for an answer to a whole request: a call that was lost is never answered, a slow machine answers late. */
const PATIENCE_SECONDS = 120;
const CALLS_OF_SESSION = 400;

interface Fuzzed {
  readonly calls: number;
  /**
   * Calls by method and status: `path STATUS`. `cancelled` and `silent` are of the client; `answered` are those whose status it
   * did not pass on.
   */
  readonly counts: ReadonlyMap<string, number>;
  /** Statuses that indicate a fault of the node, and complete requests without an answer. */
  readonly faults: readonly string[];
}

interface FuzzOptions {
  readonly seed: number;
  /** Ends after this number of calls or this time. */
  readonly calls: number;
  readonly forMs: number;
}

interface FuzzedMethod {
  readonly path: string;
  readonly input: DescMessage;
  /** Content of an envelope. */
  readonly payload: DescMessage | null;
}

/** Hostile messages to every method of every service on every gRPC listener of a node, many at once. */
export class GrpcFuzzer implements AsyncDisposable {
  readonly #callers: readonly FuzzedCaller[];
  readonly #methods: readonly FuzzedMethod[];
  readonly #known: readonly string[];
  readonly #left = new Map<string, WatchedSession>();
  readonly #sessions = new Map<string, { watched: WatchedSession; calls: number }>();

  private constructor(callers: readonly FuzzedCaller[], known: readonly string[]) {
    this.#callers = callers;
    this.#known = known;
    this.#methods = methodsOfNode();
  }

  static async of(node: AttackedNode): Promise<GrpcFuzzer> {
    const { callers, known } = await fuzzedCallers(node);
    return new GrpcFuzzer(callers, known);
  }

  get paths(): readonly string[] {
    return this.#methods.map(({ path }) => path);
  }

  async run({ seed, calls, forMs }: FuzzOptions): Promise<Fuzzed> {
    const random = seededRandom(seed);
    const hostile = new HostileMessages(random, this.#known);
    const counts = new Map<string, number>();
    const faults: string[] = [];
    const end = performance.now() + forMs;
    let made = 0;
    const lane = async (): Promise<void> => {
      while (made < calls && performance.now() < end) {
        const method = this.#methods[made % this.#methods.length];
        made += 1;
        if (method === undefined) return;
        const result = await this.#call(method, hostile);
        const key = `${method.path} ${result.code}`;
        counts.set(key, (counts.get(key) ?? 0) + 1);
        if (FAULTS.has(result.code)) faults.push(`${key} ${result.shape}: ${result.details}`);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));
    return { calls: made, counts, faults };
  }

  async #call({ path, input, payload }: FuzzedMethod, hostile: HostileMessages): Promise<Result> {
    const caller = hostile.pick(this.#callers.filter(({ paths }) => paths(path)));
    const message = payload === null ? hostile.of(input) : envelope(caller, { input, payload }, hostile);
    const shape = hostile.pick(SHAPES);
    const headers = hostile.chance(0.85) ? caller.headers : hostile.pick(HOSTILE_HEADERS);
    return new Promise((resolve) => {
      const watched = this.#session(caller.address);
      const stream = watched.session.request({ ...HEAD, ':path': path, ...headers }, { endStream: false });
      send(stream, shape, message);
      resolve(resultOf(stream, watched, { path, shape }));
    });
  }

  /** A session is used for some hundred calls: what a connection keeps goes with it. */
  #session(address: string): WatchedSession {
    const found = this.#sessions.get(address);
    const session = found?.watched.session;
    if (found !== undefined && !session?.closed && !session?.destroyed && found.calls < CALLS_OF_SESSION) {
      found.calls += 1;
      return found.watched;
    }
    // Closed one session later: one that is closed sends no request that it has taken and not yet written.
    this.#left.get(address)?.session.close();
    if (found !== undefined) this.#left.set(address, found.watched);
    const watched = new WatchedSession(address);
    watched.session.on('error', () => undefined);
    this.#sessions.set(address, { watched, calls: 1 });
    return watched;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { watched } of this.#sessions.values()) watched.session.destroy();
    for (const { session } of this.#left.values()) session.destroy();
    for (const { close } of this.#callers) close();
  }
}

interface Result {
  readonly code: string;
  readonly details: string;
  readonly shape: string;
}

const FAULTS: ReadonlySet<string> = new Set(['INTERNAL', 'UNKNOWN', 'DATA_LOSS', 'silent']);
const HEAD = { ':method': 'POST', 'content-type': 'application/grpc', te: 'trailers' };

/** Metadata of callers that the node does not know, or that is broken. */
const HOSTILE_HEADERS: readonly Readonly<Record<string, string | string[]>>[] = [
  {},
  { authorization: 'Bearer x.y.z' },
  { authorization: 'Basic Og==', 'x-tenant-id': '../acme' },
  { 'x-tenant-id': '__proto__', traceparent: '00-zz-1-01' },
  { 'svc-proof': 'x', 'svc-node-grpc-address': '0.0.0.0:0' },
  { 'broken-bin': '*', long: 'x'.repeat(15_000) },
];

/** How a request is sent. The node has to answer only the complete one at once. */
const SHAPES = [
  ...(['whole', 'whole', 'whole', 'whole', 'whole', 'whole', 'whole', 'whole'] as const),
  ...(['none', 'two', 'length', 'half', 'cancelled', 'reset'] as const),
];
/** Requests that never end, or whose answer is not waited for. */
const UNFINISHED: ReadonlySet<Shape> = new Set(['half', 'cancelled', 'reset']);
type Shape = (typeof SHAPES)[number];

function send(stream: ClientHttp2Stream, shape: Shape, message: Buffer): void {
  stream.on('error', () => undefined);
  const framed = Buffer.alloc(5 + message.length);
  framed.writeUInt32BE(message.length, 1);
  message.copy(framed, 5);
  if (shape === 'whole') stream.end(framed);
  else if (shape === 'none') stream.end();
  else if (shape === 'two') stream.end(Buffer.concat([framed, framed]));
  else if (shape === 'half') stream.write(framed.subarray(0, Math.ceil(framed.length / 2)));
  else if (shape === 'cancelled') {
    stream.end(framed);
    setImmediate(() => stream.close(8));
  } else if (shape === 'reset') {
    stream.write(framed.subarray(0, 3));
    setImmediate(() => stream.close(2));
  } else {
    framed.writeUInt32BE(0xffff_ffff, 1);
    stream.end(framed);
  }
}

/** The status of a call, or `cancelled` where it was cut off here. */
function resultOf(
  stream: ClientHttp2Stream,
  watched: WatchedSession,
  { path, shape }: { path: string; shape: Shape },
): Promise<Result> {
  const goesOn =
    UNFINISHED.has(shape) || /Watch$|Reflection|ExecuteAgent$|ForwardExecution$|ValidateWithJudges$/.test(path);
  return new Promise((resolve) => {
    const done = (code: string, details: string): void => {
      clearTimeout(timer);
      resolve({ code, details, shape });
    };
    let left = goesOn ? 1 : PATIENCE_SECONDS;
    // One second after the other: on a busy machine this process may stand still for longer, with the answer there.
    const wait = (): void => {
      left -= 1;
      if (watched.hasAnswered(stream.id)) {
        done('answered', 'the client did not pass it on');
        return;
      }
      if (left > 0) {
        timer.refresh();
        return;
      }
      stream.close(8);
      done(goesOn ? 'cancelled' : 'silent', 'no answer');
    };
    const timer = setTimeout(wait, goesOn ? STREAM_MS : 1_000);
    const look = (headers: { readonly [name: string]: string | string[] | number | undefined }): void => {
      const code = headers['grpc-status'];
      if (code !== undefined) done(status[Number(code)] ?? String(code), String(headers['grpc-message'] ?? ''));
    };
    stream.once('response', look).once('trailers', look).resume();
    stream.once('close', () => setImmediate(() => done('cancelled', 'closed')));
  });
}

/** An envelope as the caller would make it around a hostile payload, or a hostile one. */
function envelope(
  caller: FuzzedCaller,
  { input, payload }: { readonly input: DescMessage; readonly payload: DescMessage },
  hostile: HostileMessages,
): Buffer {
  return caller.seal === null || hostile.chance(0.2) ? hostile.of(input) : caller.seal(hostile.of(payload));
}

/** Every method of the services that the descriptors hold, and reflection, whose messages need none to be wrong. */
function methodsOfNode(): FuzzedMethod[] {
  const found: FuzzedMethod[] = [];
  let health: DescMessage | undefined;
  for (const file of ['descriptors.binpb', 'health.binpb']) {
    const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(join(GEN, file))));
    for (const one of registry) {
      if (one.kind !== 'service') continue;
      for (const method of one.methods) {
        const { input, name } = method;
        const payload = input.name === 'SealNodeEnvelope' ? registry.getMessage(payloadOf(method, name)) : undefined;
        found.push({ path: `/${one.typeName}/${name}`, input, payload: payload ?? null });
        health = input.typeName.endsWith('HealthCheckRequest') ? input : health;
      }
    }
  }
  if (health === undefined) throw new Error('the descriptors have no health service');
  for (const path of REFLECTION) found.push({ path, input: health, payload: null });
  return found;
}

const payloadOf = ({ input }: DescMethod, name: string): string =>
  input.typeName.replace('SealNodeEnvelope', `${name}Request`);

/** Bytes of the node's heap after a collection, when its calls are over. */
export async function settledHeap(node: AttackedNode): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < 4; tries += 1) {
    least = Math.min(least, await node.heapBytes());
    await pause(250);
  }
  return least;
}
