import { Metadata, type ServiceError } from '@grpc/grpc-js';
import type { SvcRuntimeClient } from '../../../proto/gen/svc/runtime/v1/runtime.ts';
import { clientOf, metadataOf, text } from '../grpc/call.ts';

export { clientOf, metadataOf, text };

export interface UnaryEnd<T> {
  /** Null: it was refused. */
  readonly value: T | null;
  readonly code: number;
  readonly details: string;
  readonly metadata: Metadata;
}

/** One call with its trailers, over a connection of its own. */
export async function unaryWhole<T>(
  client: SvcRuntimeClient,
  call: (client: SvcRuntimeClient, done: (error: ServiceError | null, value?: T) => void) => unknown,
): Promise<UnaryEnd<T>> {
  try {
    return await new Promise<UnaryEnd<T>>((resolve) => {
      call(client, (error, value) => {
        if (error === null) resolve({ value: value ?? null, code: 0, details: '', metadata: new Metadata() });
        else resolve({ value: null, code: error.code, details: error.details, metadata: error.metadata });
      });
    });
  } finally {
    client.close();
  }
}
