// The login: the browser signs the time with the secret, which is not sent.
import { logIn } from "./api.js";
import { Failure, Field, html, useAction, useState } from "./ui.js";

export function Login() {
  const [key, setKey] = useState("");
  const [secret, setSecret] = useState("");
  const action = useAction();
  const submit = async (event) => {
    event.preventDefault();
    const given = secret;
    setSecret("");
    await action.run(() => logIn(key.trim(), given));
  };
  return html`<main class="login stack">
    <h1>Log in to ${location.host}</h1>
    <p class="quiet">The secret signs this login here in the browser. It is neither sent nor kept.</p>
    <form onSubmit=${submit}>
      <${Field} id="login-key" label="Access key"><input id="login-key" autocomplete="username" required value=${key} onInput=${(event) => setKey(event.target.value)} /><//>
      <${Field} id="login-secret" label="Secret key"><input id="login-secret" type="password" autocomplete="current-password" required value=${secret} onInput=${(event) => setSecret(event.target.value)} /><//>
      <button class="primary" disabled=${action.busy}>${action.busy ? "Checking …" : "Log in"}</button>
      <${Failure} error=${action.error} />
    </form>
  </main>`;
}
