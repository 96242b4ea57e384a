import type { ClientReadableStream, Metadata, ServiceError, StatusObject } from '@grpc/grpc-js';
import { credentials, Metadata as MetadataClass, status } from '@grpc/grpc-js';
import {
  type ExecuteAgentRequest,
  type ExecutionEvent,
  SvcRuntimeClient,
} from '../../../proto/gen/svc/runtime/v1/runtime.ts';

type Member = NonNullable<ExecutionEvent['event']>;

interface Ended {
  readonly events: readonly Member[];
  /** First metadata, when the server sent them apart from the status. */
  readonly first: Metadata | null;
  readonly status: StatusObject;
  /** Name of the status code. */
  readonly code: string;
}

export const clientOf = (address: string, options: Record<string, number> = {}): SvcRuntimeClient =>
  new SvcRuntimeClient(address, credentials.createInsecure(), options);

export const request = (
  agent_id: string,
  input = 'hi',
  more: Partial<ExecuteAgentRequest> = {},
): ExecuteAgentRequest => ({ agent_id, input, context_json: '', ...more });

export function metadataOf(values: Readonly<Record<string, string>>): Metadata {
  const metadata = new MetadataClass();
  for (const [key, value] of Object.entries(values)) metadata.set(key, value);
  return metadata;
}

export const text = (metadata: Metadata | null, key: string): string | undefined => metadata?.get(key)[0]?.toString();

/** Reads a stream to its end; returns its status, also of a failure. */
export async function ended(call: ClientReadableStream<ExecutionEvent>): Promise<Ended> {
  const events: Member[] = [];
  let first: Metadata | null = null;
  call.on('metadata', (metadata) => {
    first = metadata;
  });
  call.on('data', ({ event }: ExecutionEvent) => {
    if (event !== undefined) events.push(event);
  });
  call.on('error', () => {
    // The status has the error.
  });
  // The status may arrive while a paused client still has events to read.
  const read = new Promise((resolve) => call.once('end', resolve));
  const end = await new Promise<StatusObject>((resolve) => call.once('status', resolve));
  await read;
  return { events, first, status: end, code: status[end.code] };
}

/** The first event of a kind, while the stream goes on. */
export const arrival = (call: ClientReadableStream<ExecutionEvent>, name: Member['$case']): Promise<Member> =>
  new Promise((resolve, reject) => {
    call.on('error', reject);
    call.on('data', ({ event }: ExecutionEvent) => {
      if (event?.$case === name) resolve(event);
    });
  });

export type Unary = (callback: (error: ServiceError | null, answer: unknown) => void) => unknown;

/** Status of a unary call. */
export const unary = (
  call: Unary,
): Promise<{ code: string; details: string; metadata: Metadata | null; answer: unknown }> =>
  new Promise((resolve) => {
    call((error, answer) =>
      resolve({
        code: status[error?.code ?? 0] ?? 'none',
        details: error?.details ?? '',
        metadata: error?.metadata ?? null,
        answer,
      }),
    );
  });

/** A frame of a gRPC stream: a flag, the length, the bytes. */
export function framed(bytes: Buffer, length = bytes.length): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, bytes]);
}
