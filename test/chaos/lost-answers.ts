/** Share of commits and appends that are executed while their caller gets an unknown outcome, in every scenario. */
export const LOST_ANSWERS = 0.02;
