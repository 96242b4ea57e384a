import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { SvcError } from '../../runtime/errors.ts';

/**
 * On a node without an identity provider every caller is the operator (design S2), so a page of some other site in the
 * operator's browser must not become one: neither directly, nor through a name that resolves to this machine.
 */
export function refuseForeignPages(headers: IncomingHttpHeaders): void {
  const site = headers['sec-fetch-site'];
  if (site === 'cross-site' || site === 'same-site') {
    throw new SvcError('forbidden', 'Pages of other sites may not call a node without authentication.');
  }
  const host = URL.parse(`http://${headers.host ?? 'localhost'}`)?.hostname.replace(/^\[|\]$/g, '');
  if (host === undefined || !(host === 'localhost' || host.endsWith('.localhost') || isIP(host) !== 0)) {
    throw new SvcError('forbidden', 'A node without authentication is called by localhost or an IP address only.');
  }
}
