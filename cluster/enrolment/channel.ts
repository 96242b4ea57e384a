import { type ChannelCredentials, type ClientOptions, credentials, experimental } from '@grpc/grpc-js';
import type { NodeSettings } from '../../manifests/node/settings.ts';
import { NodeClusterServiceClient } from '../../proto/gen/svc/cluster/v1/cluster.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Certificate, Pem } from '../../security/api.ts';
import { CertificateFiles, type CertificateParts } from '../../security/certificate-files.ts';

const ADDRESS = /^(\[[0-9a-fA-F:.]{2,45}\]|[A-Za-z0-9._-]{1,253}):\d{1,5}$/;

/**
 * Options of every connection between nodes. One that has gone silent is noticed by pings within 15 s, a peer that came
 * back is tried again within 5 s, and a name that did not resolve is looked up again as often.
 */
const CHANNEL: Partial<ClientOptions> = {
  // 16 MiB of payload (design K7) and what surrounds it.
  'grpc.max_receive_message_length': 16 * 1024 * 1024 + 64 * 1024,
  'grpc.max_send_message_length': 16 * 1024 * 1024 + 64 * 1024,
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.keepalive_permit_without_calls': 1,
  'grpc.initial_reconnect_backoff_ms': 250,
  'grpc.max_reconnect_backoff_ms': 5_000,
  'grpc.dns_min_time_between_resolutions_ms': 5_000,
  'grpc.service_config_disable_resolution': 1,
  // Nodes reach each other directly, whatever proxy the environment names for the web.
  'grpc.enable_http_proxy': 0,
  // Heartbeats are further apart than the library keeps an idle connection by default.
  'grpc.client_idle_timeout_ms': 24 * 3_600_000,
  'grpc.use_local_subchannel_pool': 1,
};

/** A client of the NodeClusterService at `host:port`. Connects with its first call; throws `invalid_argument`. */
export function clusterClient(address: string, channel: ChannelCredentials): NodeClusterServiceClient {
  const port = Number(address.slice(address.lastIndexOf(':') + 1));
  if (!ADDRESS.test(address) || port < 1 || port > 65_535) {
    throw new SvcError('invalid_argument', 'the address of a node: expected host:port', { field: 'address' });
  }
  // With its scheme written out no host name can be taken for another kind of address.
  return new NodeClusterServiceClient(`dns:${address}`, channel, CHANNEL);
}

/**
 * What a node shows and expects on connections to other nodes: mutual TLS with its certificate, else plain text. Connections
 * made after the files were replaced show the new one.
 */
export function clusterCredentials(certificate: Certificate | null): ChannelCredentials {
  if (certificate === null) return credentials.createInsecure();
  const provider = new Provider(certificate);
  return experimental.createCertificateProviderChannelCredentials(provider, provider);
}

/** `spec.cluster.tls`; null without it. Throws `invalid_config` naming the setting whose file cannot be used. */
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

/** A certificate in files as the gRPC library takes one that may change. */
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
    // The library expects to be told later than it asked.
    setImmediate(() => {
      if (this.#stops.has(listener)) tell(this.#certificate.current);
    });
  }

  #remove(listener: CaListener | IdentityListener): void {
    this.#stops.get(listener)?.();
    this.#stops.delete(listener);
  }
}
