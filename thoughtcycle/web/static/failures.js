// What to tell of an answer that is none: the server's own line, or what stands for it in the page.

const { failed, large } = document.querySelector("#toast").dataset;

export function lineOf(status, body) {
  try {
    return JSON.parse(body).message ?? failed;
  } catch {
    return status === 413 ? large : failed;
  }
}

export async function reasonOf(answer) {
  return answer ? lineOf(answer.status, await answer.text()) : failed;
}
