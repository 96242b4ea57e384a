import {
  Metadata,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
} from '@grpc/grpc-js';
import { SvcError, toSvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import { traceOf, traceparentOf } from '../trace.ts';
import { single } from './access.ts';
import type { EndpointParts } from './endpoint.ts';
import { logRefusal } from './log.ts';
import { statusOf } from './status.ts';

type PartialStatusObject = Parameters<ServerInterceptingCallInterface['sendStatus']>[0];

interface CallContext {
  /** Who asks; null for public methods. */
  readonly identity: Identity | null;
  /** W3C trace id of the call. */
  readonly trace: string;
}

/** By the metadata object of the call, which is all that an interceptor and a handler share. */
const contexts = new WeakMap<Metadata, CallContext>();

/** Identity and trace of a call that was admitted. */
export function callerOf(metadata: Metadata): { readonly identity: Identity; readonly trace: string } {
  const { identity, trace } = contextOf(metadata);
  if (identity === null) throw new SvcError('internal', 'a method without an admitted caller asked who calls');
  return { identity, trace };
}

/** W3C trace id of a call that was admitted. */
export const traceOfCall = (metadata: Metadata): string => contextOf(metadata).trace;

function contextOf(metadata: Metadata): CallContext {
  const context = contexts.get(metadata);
  if (context === undefined) throw new SvcError('internal', 'a call that was never admitted reached its method');
  return context;
}

type Admission = Pick<EndpointParts, 'admit' | 'limits' | 'logger'>;

/**
 * Gives every call its trace and identity, or refuses it, before any of its message is read: a caller without a token
 * cannot make the node hold a payload.
 */
export function callContext(parts: Admission): ServerInterceptor {
  return ({ path }, call) => {
    let traceparent: string | undefined;
    return new ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata: (metadata, proceed) => {
            const trace = traceOf(single(metadata, 'traceparent'));
            traceparent = traceparentOf(trace);
            admitCall(path, metadata, parts).then(
              (identity) => {
                contexts.set(metadata, { identity, trace });
                proceed(metadata);
              },
              (thrown: unknown) => refuse(call, toSvcError(thrown), { path, trace, traceparent }, parts),
            );
          },
        }),
      sendMetadata: (metadata, next) => {
        if (traceparent !== undefined) metadata.set('traceparent', traceparent);
        next(metadata);
      },
      sendStatus: (status, next) => next(withTrace(status, traceparent)),
    });
  };
}

async function admitCall(path: string, metadata: Metadata, parts: Admission): Promise<Identity | null> {
  if (sizeOf(metadata) > parts.limits.metadataBytes) throw new SvcError('headers_too_large');
  return parts.admit(path, metadata);
}

function refuse(
  call: ServerInterceptingCallInterface,
  error: SvcError,
  at: { readonly path: string; readonly trace: string; readonly traceparent: string | undefined },
  parts: Admission,
): void {
  logRefusal(parts.logger, error, at);
  call.sendStatus(withTrace(statusOf(error, at.trace), at.traceparent));
}

/** An error says in which trace it happened; a good end said so at the start. */
function withTrace(status: PartialStatusObject, traceparent: string | undefined): PartialStatusObject {
  if (status.code === 0 || traceparent === undefined) return status;
  const metadata = status.metadata?.clone() ?? new Metadata();
  metadata.set('traceparent', traceparent);
  return { ...status, metadata };
}

/** As HTTP/2 counts: names, values and 32 bytes each. */
function sizeOf(metadata: Metadata): number {
  let bytes = 0;
  for (const [key, values] of Object.entries(metadata.toHttp2Headers())) {
    for (const value of [values].flat()) bytes += key.length + String(value ?? '').length + 32;
  }
  return bytes;
}
