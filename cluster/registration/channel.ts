import type { KeyObject } from 'node:crypto';
import {
  type ChannelCredentials,
  type ClientOptions,
  credentials,
  experimental,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import type { NodeSettings } from '../../manifests/node/settings.ts';
import { NodeClusterServiceClient, type SealNodeEnvelope } from '../../proto/gen/svc/cluster/v1/cluster.ts';
import { ERRORS, type ErrorCode, isErrorCode, SvcError } from '../../runtime/errors.ts';
import { type Certificate, type Pem, PROOF_KEY } from '../../security/api.ts';
import { CertificateFiles, type CertificateParts } from '../../security/certificate-files.ts';
import { sealNodeEnvelope } from '../../security/node-envelope.ts';
import { makeProof } from '../../security/node-proofs/proof.ts';
import type { Prove } from './known-receiver.ts';

const ADDRESS = /^(\[[0-9a-fA-F:.]{2,45}\]|[A-Za-z0-9._-]{1,253}):\d{1,5}$/;

/**
 * Options of all connections between nodes. Pings detect a silent connection within 15 s. A failed connection is retried, and
 * an unresolved name is looked up again, within 5 s.
 */
const CHANNEL: Partial<ClientOptions> = {
  // 16 MiB of payload (K7) plus the rest of the message.
  'grpc.max_receive_message_length': 16 * 1024 * 1024 + 64 * 1024,
  'grpc.max_send_message_length': 16 * 1024 * 1024 + 64 * 1024,
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.keepalive_permit_without_calls': 1,
  'grpc.initial_reconnect_backoff_ms': 250,
  'grpc.max_reconnect_backoff_ms': 5_000,
  'grpc.dns_min_time_between_resolutions_ms': 5_000,
  'grpc.service_config_disable_resolution': 1,
  // Nodes connect directly, even when the environment sets a proxy.
  'grpc.enable_http_proxy': 0,
  // Above the library's default, since heartbeats may be further apart than that.
  'grpc.client_idle_timeout_ms': 24 * 3_600_000,
  'grpc.use_local_subchannel_pool': 1,
};

/** A client of the NodeClusterService at `host:port`. It connects at its first call. Throws `invalid_argument`. */
export function clusterClient(address: string, channel: ChannelCredentials): NodeClusterServiceClient {
  const port = Number(address.slice(address.lastIndexOf(':') + 1));
  if (!ADDRESS.test(address) || port < 1 || port > 65_535) {
    throw new SvcError('invalid_argument', 'the address of a node: expected host:port', { field: 'address' });
  }
  // The explicit scheme keeps a host name from being read as another kind of address.
  return new NodeClusterServiceClient(`dns:${address}`, channel, CHANNEL);
}

/**
 * Credentials for connections to other nodes: mutual TLS with the certificate, or plain text without one. After the files are
 * replaced, new connections use the new certificate.
 */
export function clusterCredentials(certificate: Certificate | null): ChannelCredentials {
  if (certificate === null) return credentials.createInsecure();
  const provider = new Provider(certificate);
  return experimental.createCertificateProviderChannelCredentials(provider, provider);
}

/**
 * Opens the certificate of `spec.cluster.tls`; null without TLS. Throws `invalid_config` naming the setting whose file cannot
 * be used.
 */
export async function openClusterCertificate(
  { enabled, cert_path: cert, key_path: key, ca_cert: ca }: NodeSettings['cluster']['tls'],
  parts: CertificateParts,
): Promise<CertificateFiles | null> {
  if (!enabled || cert === undefined || key === undefined || ca === undefined) return null;
  const at = (setting: string): string => `spec.cluster.tls.${setting}`;
  const fields = { cert: at('cert_path'), key: at('key_path'), ca: at('ca_cert') };
  return CertificateFiles.open({ cert, key, ca, fields }, parts);
}

type CaListener = experimental.CaCertificateUpdateListener;

type IdentityListener = experimental.IdentityCertificateUpdateListener;

/** Provides a certificate that may change to the gRPC library. */
class Provider implements experimental.CertificateProvider {
  readonly #certificate: Certificate;
  readonly #stops = new Map<CaListener | IdentityListener, () => void>();

  constructor(certificate: Certificate) {
    this.#certificate = certificate;
  }

  addCaCertificateListener(listener: CaListener): void {
    const tell = ({ ca }: Pem): void => listener(ca === null ? null : { caCertificate: ca });
    this.#add(listener, tell);
  }

  addIdentityCertificateListener(listener: IdentityListener): void {
    this.#add(listener, ({ cert, key }) => listener({ certificate: cert, privateKey: key }));
  }

  removeCaCertificateListener(listener: CaListener): void {
    this.#remove(listener);
  }

  removeIdentityCertificateListener(listener: IdentityListener): void {
    this.#remove(listener);
  }

  #add(listener: CaListener | IdentityListener, tell: (pem: Pem) => void): void {
    this.#stops.set(listener, this.#certificate.onChange(tell));
    // The library expects the first callback after the subscribing call has returned.
    setImmediate(() => {
      if (this.#stops.has(listener)) tell(this.#certificate.current);
    });
  }

  #remove(listener: CaListener | IdentityListener): void {
    this.#stops.get(listener)?.();
    this.#stops.delete(listener);
  }
}

/** Metadata of RegisterNode: the address of the node's own NodeClusterService. */
export const GRPC_ADDRESS_KEY = 'svc-node-grpc-address';

export interface SealedCall {
  /** The serialized request in its envelope (G21). */
  readonly envelope: SealNodeEnvelope;
  readonly metadata: Readonly<Record<string, string>>;
  /** Makes the metadata of one attempt: a proof for this receiver at this time. */
  readonly prove: Prove;
}

/** Seals a call of this node to another one and prepares its proof. */
export function sealCall(call: {
  /** Name of the RPC. */
  readonly method: string;
  readonly token: string;
  readonly privateKey: KeyObject;
  readonly payload: Uint8Array;
  readonly metadata?: Readonly<Record<string, string>>;
}): SealedCall {
  const { token, privateKey, metadata = {} } = call;
  const sealed = sealNodeEnvelope(token, privateKey, call.payload);
  const proven = {
    method: `/${NodeClusterServiceClient.serviceName}/${call.method}`,
    tenant: metadata['x-tenant-id'] ?? '',
    address: metadata[GRPC_ADDRESS_KEY] ?? '',
    token,
    payload: call.payload,
  };
  return {
    envelope: { ...sealed, signature: Buffer.from(sealed.signature), payload: Buffer.from(sealed.payload) },
    metadata: { ...metadata, authorization: `Bearer ${token}` },
    prove: async (to) => ({ [PROOF_KEY]: await makeProof(privateKey, proven, to) }),
  };
}

/** Trailer with the error code, sent by our servers. */
const ERROR_CODE_KEY = 'svc-error-code';

/** Trailer with the precise reason, where several share a code. */
const ERROR_REASON_KEY = 'svc-error-reason';

const MAX_DETAIL_CHARS = 300;

/** Error codes of gRPC statuses, for answers without our trailers. */
const CODES: Readonly<Partial<Record<number, ErrorCode>>> = {
  [status.CANCELLED]: 'cancelled',
  [status.INVALID_ARGUMENT]: 'invalid_argument',
  [status.OUT_OF_RANGE]: 'invalid_argument',
  [status.DEADLINE_EXCEEDED]: 'deadline_exceeded',
  [status.NOT_FOUND]: 'not_found',
  [status.ALREADY_EXISTS]: 'conflict',
  [status.PERMISSION_DENIED]: 'forbidden',
  [status.RESOURCE_EXHAUSTED]: 'rate_limited',
  [status.FAILED_PRECONDITION]: 'failed_precondition',
  [status.ABORTED]: 'lease_lost',
  [status.UNIMPLEMENTED]: 'unimplemented',
  [status.UNAVAILABLE]: 'unavailable',
  [status.UNAUTHENTICATED]: 'unauthenticated',
};

/**
 * Converts a failed call to an SvcError naming the method and the receiver. The library's error is not kept as the cause, since
 * it contains metadata with tokens.
 */
export function callFailure(error: ServiceError, method: string, address: string): SvcError {
  const named = error.metadata?.get(ERROR_CODE_KEY)[0];
  const details = error.details.slice(0, MAX_DETAIL_CHARS).toWellFormed();
  const message = `${method} at ${address}: ${status[error.code] ?? error.code}${details === '' ? '' : `, ${details}`}`;
  if (typeof named === 'string' && isErrorCode(named) && status[ERRORS[named].grpc] === error.code) {
    const reason = error.metadata?.get(ERROR_REASON_KEY)[0];
    return new SvcError(named, message, typeof reason === 'string' ? { reason } : {});
  }
  return new SvcError(CODES[error.code] ?? 'internal', message);
}

const ELSEWHERE = new Set(['UNAVAILABLE', 'DEADLINE_EXCEEDED', 'INTERNAL', 'ABORTED', 'CANCELLED', 'UNIMPLEMENTED']);

/** Whether to call another controller: this one is unreachable, slow or broken, which does not answer the request. */
export const isWorthAskingElsewhere = (error: SvcError): boolean => ELSEWHERE.has(error.row.grpc);
