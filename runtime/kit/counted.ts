/** `1 error`, `2 errors`; `many` is the plural form where it is not `one` with an s. */
export const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`;
