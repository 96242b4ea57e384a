import type { ToolSessionApi } from '../../actors/tool-session/api.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Random } from '../../runtime/random.ts';
import type { ToolDesk } from '../../tools/api.ts';
import type { Admission } from '../admission.ts';

/** What calls of tools by callers are translated into. */
export interface CallerToolParts {
  readonly desk: Pick<ToolDesk, 'callerGrant'>;
  readonly sessions: Pick<ToolSessionApi, 'open' | 'invoke'>;
  /** Without it no call that starts a run is refused for its amount. */
  readonly admission?: Pick<Admission, 'enter'>;
  readonly clock: Clock;
  readonly random: Random;
  /** Longest wait for a call's result. Default 640,000: longer than any tool. */
  readonly callTimeoutMs?: number;
}

export const CALL_TIMEOUT_MS = 640_000;
