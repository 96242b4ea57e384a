import type { Identity } from '../runtime/identity.ts';

export { type Action, requireRole } from './policy.ts';

/** Who a call is from, as the transport received it. */
export interface Credentials {
  /** Value of the `authorization` header or metadata. */
  readonly authorization: string | undefined;
  /** Value of `X-Tenant-Id` / `x-tenant-id`: honoured for service accounts, ignored for everyone else. */
  readonly tenantHeader: string | undefined;
}

/** Turns credentials into an identity, the same for REST and gRPC (design S1, S2). */
export interface Authenticator {
  /** False on a loopback node without an identity provider: every call is the local operator's. */
  readonly required: boolean;
  /**
   * Throws `unauthenticated` for a missing or bad token, `unavailable` when its keys cannot be had, `invalid_argument`
   * for a bad `tenantHeader` of a service account.
   */
  authenticate(credentials: Credentials): Promise<Identity>;
}

/** Secrets by reference (design S3): `env:NAME`, `secret:PATH`, `literal:VALUE`; a plain value is itself. */
export interface Secrets {
  /** Throws `failed_precondition` naming the reference, never the value. */
  resolve(tenant: string, reference: string): Promise<string>;
}
