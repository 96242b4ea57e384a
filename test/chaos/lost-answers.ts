/** Share of commits and appends that happen although the caller gets an unknown outcome, in every scenario. */
export const LOST_ANSWERS = 0.02;
