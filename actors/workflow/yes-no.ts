const YES: ReadonlySet<string> = new Set(['yes', 'approve', 'approved', 'true']);
const NO: ReadonlySet<string> = new Set(['no', 'reject', 'rejected', 'false']);

const word = (payload: string): string => payload.trim().toLowerCase();

/** Words of `input_equals_yes` (spec 3, Conditions). */
export const isYes = (payload: string): boolean => YES.has(word(payload));

/** Words of `input_equals_no`. */
export const isNo = (payload: string): boolean => NO.has(word(payload));
