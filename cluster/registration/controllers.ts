import {
  type CallOptions,
  type ChannelCredentials,
  type ClientUnaryCall,
  Metadata,
  type ServiceError,
} from '@grpc/grpc-js';
import type { NodeClusterServiceClient } from '../../proto/gen/svc/cluster/v1/cluster.ts';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import { SvcError, toSvcError } from '../../runtime/errors.ts';
import { callFailure, clusterClient, isWorthAskingElsewhere } from './channel.ts';
import { KnownReceiver, type Prove } from './known-receiver.ts';

/** One unary RPC of a client. */
export type UnaryCall<Answer> = (
  client: NodeClusterServiceClient,
  metadata: Metadata,
  options: Partial<CallOptions>,
  done: (error: ServiceError | null, answer: Answer) => void,
) => ClientUnaryCall;

export interface Asking {
  /** Entries of the call's metadata. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Makes further metadata for the receiver, separately for each attempt. */
  readonly prove?: Prove;
  /** Time limit for one controller. */
  readonly timeoutMs?: number;
  /** Time limit for all controllers together. */
  readonly roundTimeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Called for each controller that did not answer. It may have executed the call. */
  readonly unanswered?: () => void;
  /** Refusals after which the next controller is called too; default none. */
  readonly passOver?: (error: SvcError) => boolean;
}

/** The configured controllers. Calls go to one of them, and to the next when it does not answer. */
export interface Controllers {
  /**
   * Calls the controller that answered last, then the others in the order of the list, each once. A refusal counts as an answer
   * and is thrown as the SvcError of its status. Throws `unavailable` when none answered, `cancelled` when the signal was
   * aborted.
   */
  ask<Answer>(method: string, call: UnaryCall<Answer>, asking?: Asking): Promise<Answer>;
  /** Address of the controller that is called first, `host:port`. */
  first(): string;
  /** Closes the connections; running calls fail. */
  close(): void;
}

const CALL_TIMEOUT_MS = 5_000;
const MAX_CONTROLLERS = 32;

/** Creates one client for each address and keeps it, so that calls share its connection. */
export function createControllers(given: {
  readonly addresses: readonly string[];
  readonly credentials: ChannelCredentials;
  /** Default 5 s. */
  readonly callTimeoutMs?: number;
  readonly clock?: Clock;
}): Controllers {
  const { addresses, callTimeoutMs = CALL_TIMEOUT_MS, clock = systemClock } = given;
  if (addresses.length < 1 || addresses.length > MAX_CONTROLLERS) {
    throw new SvcError(
      'invalid_config',
      `spec.cluster.controller.endpoint: expected 1 to ${MAX_CONTROLLERS} addresses`,
    );
  }
  // Several controllers may share an address, so the receiver is known from its answers only.
  const known = addresses.map((address) => ({
    address,
    client: clusterClient(address, given.credentials),
    receiver: new KnownReceiver(clock, null),
  }));
  let preferred = 0;

  return {
    async ask(method, call, asking = {}) {
      const endsAt = asking.roundTimeoutMs === undefined ? null : performance.now() + asking.roundTimeoutMs;
      const failures: SvcError[] = [];
      const start = preferred;
      for (const [step] of known.entries()) {
        const at = (start + step) % known.length;
        const one = known[at];
        const leftMs = endsAt === null ? Number.POSITIVE_INFINITY : endsAt - performance.now();
        if (one === undefined || leftMs <= 0) break;
        const timeoutMs = Math.min(asking.timeoutMs ?? callTimeoutMs, leftMs);
        try {
          const answer = await askOne(one, call, { ...asking, timeoutMs }, (error) =>
            callFailure(error, method, one.address),
          );
          preferred = at;
          return answer;
        } catch (thrown) {
          const error = toSvcError(thrown);
          if (asking.signal?.aborted === true) throw new SvcError('cancelled', `${method} was cancelled`);
          const isAnswer = !isWorthAskingElsewhere(error);
          if (isAnswer && asking.passOver?.(error) !== true) throw error;
          failures.push(error);
          if (!isAnswer) asking.unanswered?.();
        }
      }
      throw noneAnswered(method, failures);
    },
    first: () => known[preferred]?.address ?? '',
    close() {
      for (const { client } of known) client.close();
    },
  };
}

function noneAnswered(method: string, failures: readonly SvcError[]): SvcError {
  const [only, ...others] = failures;
  if (only !== undefined && others.length === 0) return only;
  const what = failures.map((failure) => failure.message).join('; ');
  return new SvcError('unavailable', `${method}: no controller answered: ${what}`);
}

/** The client of a node, and the known facts about the node. */
export interface Called {
  readonly client: NodeClusterServiceClient;
  readonly receiver: KnownReceiver;
}

/**
 * Makes one call as a promise; the signal cancels it. When the answer shows that the assumed receiver or its clock was wrong,
 * the call is made once more. This is safe, since a call that is refused for its proof has no effect.
 */
export async function askOne<Answer>(
  called: Called,
  call: UnaryCall<Answer>,
  asking: Asking & { readonly timeoutMs: number },
  failure: (error: ServiceError) => SvcError,
): Promise<Answer> {
  const { receiver } = called;
  const deadline = Date.now() + asking.timeoutMs;
  const attempt = async (to: ReturnType<KnownReceiver['now']>): Promise<Answer> => {
    const metadata = { ...asking.metadata, ...(await asking.prove?.(to)) };
    return askOnce(called, call, { metadata, deadline, signal: asking.signal }, failure);
  };
  const first = receiver.now();
  try {
    return await attempt(first);
  } catch (thrown) {
    const error = toSvcError(thrown);
    if (asking.prove === undefined || !receiver.isWorthAnother(error, first)) throw thrown;
    return attempt(receiver.now());
  }
}

function askOnce<Answer>(
  { client, receiver }: Called,
  call: UnaryCall<Answer>,
  asking: {
    readonly metadata: Readonly<Record<string, string>>;
    /** By the system's clock, which the library uses for deadlines. */
    readonly deadline: number;
    readonly signal: AbortSignal | undefined;
  },
  failure: (error: ServiceError) => SvcError,
): Promise<Answer> {
  const { metadata, deadline, signal } = asking;
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(new SvcError('cancelled', 'the call was cancelled before it began'));
    const running = call(client, metadataOf(metadata), { deadline }, (error, answer) => {
      signal?.removeEventListener('abort', cancel);
      receiver.update(error?.metadata);
      if (error === null) resolve(answer);
      else reject(failure(error));
    });
    running.on('status', ({ metadata: trailers }) => receiver.update(trailers));
    const cancel = (): void => running.cancel();
    signal?.addEventListener('abort', cancel, { once: true });
  });
}

export function metadataOf(entries: Readonly<Record<string, string>>): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(entries)) {
    // The library's own error would contain the value, which may be a secret.
    if (!/^[\x20-\x7e]{0,8192}$/.test(value)) {
      throw new SvcError('invalid_argument', `metadata ${name}: expected at most 8192 printable ASCII characters`);
    }
    metadata.set(name, value);
  }
  return metadata;
}
