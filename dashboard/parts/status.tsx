/** Appearance of a status: the shapes differ as well as the colours. */
type Tone = 'good' | 'bad' | 'busy' | 'waits' | 'idle';

const TONES: Readonly<Record<string, Tone>> = {
  completed: 'good',
  succeeded: 'good',
  success: 'good',
  done: 'good',
  active: 'good',
  ACTIVE: 'good',
  deployed: 'good',
  routed: 'good',
  allowed: 'good',
  running: 'busy',
  started: 'busy',
  current: 'busy',
  judging: 'busy',
  retrying: 'busy',
  retried: 'busy',
  pending: 'waits',
  waiting: 'waits',
  waiting_for_human_input: 'waits',
  DRAINING: 'waits',
  paused: 'waits',
  failed: 'bad',
  rejected: 'bad',
  denied: 'bad',
  refused: 'bad',
  revoked: 'bad',
  dead_lettered: 'bad',
  UNHEALTHY: 'bad',
};

const LABELS: Readonly<Record<string, string>> = {
  waiting_for_human_input: 'waits for a person',
  dead_lettered: 'dead letter',
  ACTIVE: 'active',
  DRAINING: 'draining',
  UNHEALTHY: 'unhealthy',
};

const toneOf = (status: string): Tone => TONES[status] ?? 'idle';

export const statusLabel = (status: string): string => LABELS[status] ?? status.replaceAll('_', ' ');

/** Dot: done; ring: running; diamond: waiting; triangle: failed; square: ended otherwise. */
function Shape({ tone }: { readonly tone: Tone }) {
  return (
    <svg className={`shape tone-${tone}`} viewBox="0 0 12 12" width="10" height="10" aria-hidden="true">
      {tone === 'good' && <circle cx="6" cy="6" r="4.5" fill="currentColor" />}
      {tone === 'busy' && <circle cx="6" cy="6" r="4" fill="none" stroke="currentColor" strokeWidth="2" />}
      {tone === 'waits' && <path d="M6 1 11 6 6 11 1 6Z" fill="currentColor" />}
      {tone === 'bad' && <path d="M6 1 11.5 11H.5Z" fill="currentColor" />}
      {tone === 'idle' && <rect x="2" y="2" width="8" height="8" fill="currentColor" />}
    </svg>
  );
}

export function Status({ status, label }: { readonly status: string; readonly label?: string }) {
  return (
    <span className="status">
      <Shape tone={toneOf(status)} />
      {label ?? statusLabel(status)}
    </span>
  );
}

/** A completed run whose last state failed did not succeed. */
export function RunStatus({ status, outcome }: { readonly status: string; readonly outcome: string | null }) {
  const isFailed = status === 'completed' && outcome === 'failed';
  return isFailed ? <Status status="failed" label="ended as failed" /> : <Status status={status} />;
}
