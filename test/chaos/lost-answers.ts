/** Share of commits and appends that happen although the caller is told they may not have, in every scenario. */
export const LOST_ANSWERS = 0.02;
