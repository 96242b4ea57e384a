/** Result of a command as spec 3 (Command tool) has it. */
export interface CommandStreams {
  readonly stdout: string;
  readonly stderr: string;
}

/** What a caller is told of a command that is no result: the same wherever it ran. */
export interface CommandFailure {
  readonly code: 'CommandNotFound' | 'ExecTimeoutCeilingExceeded' | 'OutputSizeLimitExceeded';
  readonly message: string;
}

const TAIL_CHARS = 500;
/** So much of an output tells whether more came before what is shown. */
export const COMMAND_TAIL_CHARS = TAIL_CHARS + 1;

const tail = (text: string): string => (text.length > TAIL_CHARS ? `…${text.slice(-TAIL_CHARS)}` : text);

/** The end of what it wrote before it was ended. */
export const outputUntilThen = ({ stdout, stderr }: CommandStreams): string =>
  `Its output until then: ${JSON.stringify({ stdout: tail(stdout), stderr: tail(stderr) })}`;

export const commandNotFound = (command: string): CommandFailure => ({
  code: 'CommandNotFound',
  message: `${command} is not there: use another command`,
});

export const commandTooLong = (timeoutSecs: number, streams: CommandStreams): CommandFailure => ({
  code: 'ExecTimeoutCeilingExceeded',
  message: `the command ran longer than ${timeoutSecs} s and was ended. ${outputUntilThen(streams)}`,
});

export const commandTooMuch = (maxBytes: number, streams: CommandStreams): CommandFailure => ({
  code: 'OutputSizeLimitExceeded',
  message: `the command wrote more than ${maxBytes} bytes: let it write to a file. ${outputUntilThen(streams)}`,
});
