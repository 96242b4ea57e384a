import type { AttestApi } from '../../actors/execution/api.ts';
import type { ToolSessionApi } from '../../actors/tool-session/api.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { AgentTokens, AuditSigner, SealEnvelopes } from '../../security/api.ts';
import type { ToolDesk } from '../../tools/api.ts';
import type { Admission } from '../admission.ts';

/** What SEAL is made of, whichever way it is asked for. */
export interface SealParts {
  readonly attestation: AttestApi;
  readonly desk: Pick<ToolDesk, 'grant'>;
  readonly sessions: ToolSessionApi;
  readonly tokens: AgentTokens;
  readonly envelopes: SealEnvelopes;
  readonly signer: AuditSigner;
  /** Without it no call that starts a run is refused for its amount: what runs here calls by the internal address. */
  readonly admission?: Pick<Admission, 'enter'>;
}

/** On whose behalf the call came in. */
export interface SealCaller {
  readonly tenant: string;
  /** By whose bearer token; without one a capability token says which execution it is. */
  readonly identity?: Identity;
  /** A bearer or capability token says so, and sessions of another tenant are not reached. */
  readonly verified: boolean;
  /** A capability token opens this execution alone. */
  readonly executionId?: string;
}

export interface SealCall {
  /** Null: nobody said; then a signed envelope alone says whose session it is, and nothing can be attested. */
  readonly caller: SealCaller | null;
  /** W3C trace id. */
  readonly trace: string;
  readonly signal?: AbortSignal;
}
