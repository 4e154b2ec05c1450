// Shows the server's OpenAPI document, and sends requests from it. Texts are inserted as text, never as markup.
"use strict";

const METHODS = ["get", "post", "put", "patch", "delete"];

function element(tag, text, attributes = {}, ...children) {
  const made = document.createElement(tag);
  if (text) made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function resolved(schema, api) {
  return schema && schema.$ref ? schema.$ref.slice(2).split("/").reduce((at, key) => at[key], api) : schema || {};
}

// An example value of a schema: its own example, else its default, else one made of its parts.
function example(schema, api, depth = 0) {
  const s = resolved(schema, api);
  if (s.examples && s.examples.length) return s.examples[0];
  if ("default" in s) return s.default;
  if ("const" in s) return s.const;
  const one = (s.anyOf || s.oneOf || s.allOf || []).find((part) => part.type !== "null");
  if (one) return example(one, api, depth);
  if (depth > 5) return null;
  if (s.type === "object" || s.properties) {
    const required = Object.entries(s.properties || {});
    return Object.fromEntries(required.map(([name, part]) => [name, example(part, api, depth + 1)]));
  }
  if (s.type === "array") return [example(s.items, api, depth + 1)];
  return { string: "text", integer: 0, number: 0, boolean: false }[s.type] ?? null;
}

// The fields of a request with only what is required or has an example, so that it can be sent as it stands.
function sample(schema, api) {
  const s = resolved(schema, api);
  if (!s.properties) return example(s, api);
  const kept = Object.entries(s.properties).filter(
    ([name, part]) => (s.required || []).includes(name) || (resolved(part, api).examples || [])[0] != null);
  return Object.fromEntries(kept.map(([name, part]) => [name, example(part, api)]));
}

function fieldList(schema, api) {
  const s = resolved(schema, api);
  const list = element("ul");
  for (const [name, part] of Object.entries(s.properties || {})) {
    const own = resolved(part, api);
    const type = own.type || (own.anyOf || []).map((p) => resolved(p, api).type || "object").join(" or ") || "any";
    const must = (s.required || []).includes(name) ? ", required" : "";
    const about = part.description || own.description || "";
    list.append(element("li", "", {}, element("code", name), ` (${type}${must}) ${about}`));
  }
  return list;
}

function operationView(path, method, operation, api) {
  const [first, ...rest] = (operation.description || "").replaceAll("\n", " ").split(/(?<=\.) /);
  const title = element("summary", "", {}, element("span", method.toUpperCase(), { class: "method" }),
    element("code", path), ` ${first}`);
  const form = element("form");
  const parameters = (operation.parameters || []).filter((p) => p.in === "path" || p.in === "query");
  for (const parameter of parameters) {
    const given = (parameter.schema && parameter.schema.examples || [])[0] ?? "";
    const input = element("input", "", { name: `${parameter.in} ${parameter.name}`, value: given });
    if (parameter.required) input.required = true;
    const note = parameter.description ? ` – ${parameter.description}` : "";
    form.append(element("label", `${parameter.name} (${parameter.in})${note}`, {}, input));
  }
  const content = operation.requestBody && operation.requestBody.content["application/json"];
  if (content) {
    form.append(element("h3", "Body"), fieldList(content.schema, api));
    const body = element("textarea", JSON.stringify(sample(content.schema, api), null, 2), { name: "body" });
    form.append(element("label", "JSON to send", {}, body));
  }
  const output = element("pre", "", { "aria-live": "polite", hidden: "" });
  form.append(element("button", "Send", { type: "submit" }), output);
  form.addEventListener("submit", (submitted) => {
    submitted.preventDefault();
    send(path, method, new FormData(form), output);
  });
  const replies = element("ul");
  for (const [status, reply] of Object.entries(operation.responses || {})) {
    replies.append(element("li", `${status}: ${reply.description || ""}`));
    const json = (reply.content || {})["application/json"];
    if (json && json.schema) replies.lastChild.append(fieldList(json.schema, api));
  }
  return element("details", "", {}, title, element("p", rest.join(" ")), form, element("h3", "Replies"), replies);
}

async function send(path, method, fields, output) {
  const query = new URLSearchParams();
  let address = path;
  for (const [key, value] of fields) {
    const [place, name] = key.split(" ");
    if (place === "path") address = address.replace(`{${name}}`, encodeURIComponent(value));
    if (place === "query" && value) query.set(name, value);
  }
  const body = fields.get("body");
  const options = { method: method.toUpperCase() };
  if (body !== null) Object.assign(options, { body, headers: { "Content-Type": "application/json" } });
  output.hidden = false;
  output.textContent = "…";
  try {
    const reply = await fetch(address.slice(1) + (query.size ? `?${query}` : ""), options);
    const text = await reply.text();
    const isJson = (reply.headers.get("content-type") || "").includes("json");
    output.textContent = `${reply.status}\n${isJson && text ? JSON.stringify(JSON.parse(text), null, 2) : text}`;
  } catch (error) {
    output.textContent = `No reply: ${error}`;
  }
}

async function show() {
  const place = document.getElementById("operations");
  try {
    const api = await (await fetch("openapi.json")).json();
    document.getElementById("about").textContent = `${api.info.title} ${api.info.version}. ${api.info.description}`;
    const groups = new Map();
    for (const [path, operations] of Object.entries(api.paths)) {
      for (const method of METHODS.filter((name) => name in operations)) {
        const tag = (operations[method].tags || ["other"])[0];
        if (!groups.has(tag)) groups.set(tag, element("section", "", {}, element("h2", tag)));
        groups.get(tag).append(operationView(path, method, operations[method], api));
      }
    }
    place.replaceChildren(...groups.values());
  } catch (error) {
    place.replaceChildren(element("p", `The description of the interface cannot be loaded: ${error}`));
  }
  place.setAttribute("aria-busy", "false");
}

show();
