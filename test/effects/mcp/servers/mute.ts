/** Reads all input and never answers. */
process.stdin.resume();
setInterval(() => {}, 1_000);
