import type { JsonObject } from '../../runtime/json.ts';
import { keepHead } from '../execution/bounded-text.ts';
import { isDecided, reachConsensus, type Verdict } from './consensus/consensus.ts';
import type { PanelConcluded } from './messages.ts';
import {
  type EndedPanel,
  isOpen,
  type JudgePanelTurn,
  type JudgingPanel,
  LIMITS,
  nameOf,
  type Seat,
  stopSeat,
  timerOf,
} from './state.ts';

/** Ends the panel when every judge is done, or, with `early_stop`, when no missing judge can change the outcome. */
export function concludeIfDone(panel: JudgingPanel, turn: JudgePanelTurn): JudgingPanel | EndedPanel {
  const { consensus: rule, seats } = panel;
  const open = seats.filter(isOpen);
  const answered = verdictsOf(seats);
  const enough = answered.length >= rule.min_judges_required;
  if (answered.length + open.length < rule.min_judges_required && (rule.early_stop || open.length === 0)) {
    return conclude(panel, turn);
  }
  const missing = open.map(({ weight }) => weight);
  const decided = open.length === 0 || (rule.early_stop && enough && isDecided(answered, missing, rule));
  return decided ? conclude(panel, turn) : panel;
}

/** Ends without a verdict; judges that still run are cancelled. */
export function cancelPanel(panel: JudgingPanel, reason: string, turn: JudgePanelTurn): EndedPanel {
  turn.emit('JudgePanelCancelled', { panel_id: panel.panel_id, reason, cancelled_at: instant(turn) });
  return end(panel, { status: 'cancelled', error: reason, consensus: null, binary_valid: false }, turn);
}

function conclude(panel: JudgingPanel, turn: JudgePanelTurn): EndedPanel {
  const { consensus: rule, seats } = panel;
  const verdicts = verdictsOf(seats);
  const notAwaited = seats.filter(isOpen).length;
  if (verdicts.length < rule.min_judges_required || verdicts.length === 0) {
    const error = tooFew(panel, verdicts.length);
    concluded(panel, { status: 'failed', error, score: null, confidence: null, binary_valid: false }, turn);
    const code = hopelessCode(panel);
    return end(panel, { status: 'failed', error, code, consensus: null, binary_valid: false }, turn);
  }
  const { score, confidence, valid, variance, agreement } = reachConsensus(verdicts, rule);
  turn.emit('MultiJudgeConsensus', {
    judge_scores: seats.flatMap((seat) =>
      seat.verdict === null ? [] : [{ agent_id: nameOf(seat), score: seat.verdict.score }],
    ),
    final_score: score,
    confidence,
  });
  concluded(panel, { status: 'concluded', error: null, score, confidence, binary_valid: valid }, turn);
  const metadata: JsonObject = {
    threshold: rule.threshold,
    judges: seats.length,
    answered: verdicts.length,
    all_succeeded: verdicts.length === seats.length,
    not_awaited: notAwaited,
    failed: seats.filter(({ status }) => status === 'failed').map(failure),
    variance,
    agreement,
    binary_valid: valid,
  };
  const consensus = { score, confidence, strategy: rule.strategy, metadata };
  return end(panel, { status: 'concluded', error: null, consensus, binary_valid: valid }, turn);
}

type Figures = Pick<PanelConcluded, 'error' | 'binary_valid'> & {
  readonly status: 'concluded' | 'failed';
  readonly score: number | null;
  readonly confidence: number | null;
};

function concluded({ panel_id, consensus, seats }: JudgingPanel, figures: Figures, turn: JudgePanelTurn): void {
  turn.emit('JudgePanelConcluded', {
    panel_id,
    ...figures,
    strategy: consensus.strategy,
    not_awaited: seats.filter(isOpen).length,
    concluded_at: instant(turn),
  });
}

type Verdictless = Pick<PanelConcluded, 'status' | 'error' | 'code' | 'consensus' | 'binary_valid'>;

/** Cancels the judges that are no longer awaited, and sends the outcome. */
function end(panel: JudgingPanel, verdict: Verdictless, turn: JudgePanelTurn): EndedPanel {
  const { panel_id, consensus, notify } = panel;
  const seats = panel.seats.map((seat, judge): Seat => {
    if (!isOpen(seat)) return seat;
    turn.clear(timerOf(judge));
    stopSeat(seat, turn, `the panel has ended: ${verdict.status}`);
    return { ...seat, status: 'dropped' };
  });
  const outcome: PanelConcluded = {
    panel_id,
    ...verdict,
    individual_results: seats.flatMap((seat) =>
      seat.verdict === null ? [] : [{ agent_id: nameOf(seat), ...seat.verdict }],
    ),
    agents: seats.map((seat) => ({ agent_id: nameOf(seat), output: seat.output, weight: seat.weight })),
    context: notify?.context ?? null,
  };
  if (notify !== null) turn.tell(notify.to, notify.as, outcome);
  // Only the outcome keeps the verdicts.
  const emptied = seats.map((seat): Seat => ({ ...seat, verdict: null, output: null }));
  return { status: 'ended', panel_id, consensus, seats: emptied, outcome, told: notify?.to };
}

/** The error of judges that cannot answer even if asked again, when too few others remain. */
function hopelessCode({ seats, consensus: { min_judges_required: needed } }: JudgingPanel): string | undefined {
  const hopeless = seats.flatMap((seat) => seat.hopeless ?? []);
  return seats.length - hopeless.length < needed ? hopeless[0] : undefined;
}

const verdictsOf = (seats: readonly Seat[]): Verdict[] =>
  seats.flatMap(({ verdict, weight }) =>
    verdict === null ? [] : [{ score: verdict.score, confidence: verdict.confidence, weight }],
  );

const failure = (seat: Seat): JsonObject => ({ agent_id: nameOf(seat), reason: seat.reason });

const instant = (turn: JudgePanelTurn): string => new Date(turn.now).toISOString();

function tooFew({ seats, consensus: { min_judges_required: needed } }: JudgingPanel, answered: number): string {
  const failed = seats.filter(({ status }) => status === 'failed');
  const why = failed.map((seat) => `judge ${seat.agent}: ${seat.reason ?? 'no verdict'}`).join('; ');
  const text = `${answered} of ${seats.length} judges gave a verdict, at least ${needed} must`;
  return keepHead(why === '' ? text : `${text}: ${why}`, LIMITS.errorChars);
}
