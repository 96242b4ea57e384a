/** Reads everything and never says a word. */
process.stdin.resume();
setInterval(() => {}, 1_000);
