import type { NodeSettings } from '../manifests/node/settings.ts';
import { CertificateFiles, type CertificateParts } from '../security/certificate-files.ts';

/**
 * What the public addresses show (`spec.network.tls`); null where they speak plain text. Throws `invalid_config` naming the
 * setting whose file cannot be used.
 */
export async function openNetworkCertificate(tls: NodeSettings['network']['tls'], parts: CertificateParts) {
  const { enabled, cert_path: cert, key_path: key, min_version } = tls;
  if (!enabled || cert === undefined || key === undefined) return null;
  const fields = { cert: 'spec.network.tls.cert_path', key: 'spec.network.tls.key_path' };
  const certificate = await CertificateFiles.open({ cert, key, fields }, parts);
  return { certificate, minVersion: `TLSv${min_version}` } as const;
}
