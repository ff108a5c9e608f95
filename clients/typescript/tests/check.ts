// What the tests here share. A test is a program: it ends with 0, or says what is not so.

import { AgentError } from "../client.js";

declare const process: { readonly argv: readonly string[] };

/** Where the server of this test is. */
export function server(): { baseUrl: string; token: string } {
  const [, , baseUrl, token] = process.argv;
  check(baseUrl !== undefined && token !== undefined, "the test is run with BASE_URL TOKEN");
  return { baseUrl, token };
}

export function check(isSo: boolean, sentence: string): asserts isSo {
  if (!isSo) throw new Error(`not so: ${sentence}`);
}

export function same(found: unknown, expected: unknown, of: string): void {
  const [left, right] = [JSON.stringify(found), JSON.stringify(expected)];
  if (left !== right) throw new Error(`${of}: ${left} is not ${right}`);
}

/** What a promise fails with. */
export async function failure(of: Promise<unknown>): Promise<unknown> {
  try {
    await of;
  } catch (error) {
    return error;
  }
  throw new Error("not so: it fails");
}

/** The status and code that a call is refused with. */
export async function refusal(of: Promise<unknown>): Promise<AgentError> {
  const error = await failure(of);
  if (error instanceof AgentError) return error;
  throw error;
}

export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const read: T[] = [];
  for await (const item of items) read.push(item);
  return read;
}
